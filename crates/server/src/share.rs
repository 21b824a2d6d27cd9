//! A server beside another front end of the same program, which hands its sessions over. It runs on
//! a thread of its own until the front end ends it.

use std::io;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use http::StatusCode;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::host::{Failure, Host, Opening, Wanted};
use crate::listen::{Options, serve};

/// The front end's side of the server.
pub struct Sharing<E> {
    openings: mpsc::Sender<Opening>,
    stop: Arc<Notify>,
    ended: oneshot::Receiver<Result<(), E>>,
    /// The address of the server.
    pub place: String,
    link: Arc<OnceLock<String>>,
}

/// The server's side.
pub struct Shared {
    openings: mpsc::Receiver<Opening>,
    stop: Arc<Notify>,
    place: oneshot::Sender<String>,
    /// The link that logs in the first browser.
    pub link: Arc<OnceLock<String>>,
}

impl Shared {
    pub async fn serve(self, host: Rc<dyn Host>, options: Options) -> io::Result<()> {
        let Self { openings, stop, place, .. } = self;
        let options = Options { openings: Some(openings), ..options };
        serve(host, options, stop.notified(), |found, _| {
            // The front end may be over.
            let _ = place.send(found.to_owned());
        })
        .await
    }
}

impl<E: From<io::Error> + Send + 'static> Sharing<E> {
    /// Starts a thread on which `run` serves.
    pub async fn start(
        run: impl FnOnce(Shared) -> Result<(), E> + Send + 'static,
    ) -> Result<Self, E> {
        let (openings, openings_out) = mpsc::channel(1);
        let (place_in, place) = oneshot::channel();
        let (ended_in, ended) = oneshot::channel();
        let (stop, link) = (Arc::new(Notify::new()), Arc::new(OnceLock::new()));
        let shared = Shared {
            openings: openings_out,
            stop: Arc::clone(&stop),
            place: place_in,
            link: Arc::clone(&link),
        };
        std::thread::Builder::new().name("serve".to_owned()).spawn(move || {
            // The front end may be over.
            let _ = ended_in.send(run(shared));
        })?;
        match place.await {
            Ok(place) => Ok(Self { openings, stop, ended, place, link }),
            Err(_) => Err(match ended.await {
                Ok(Err(error)) => error,
                Ok(Ok(())) | Err(_) => io::Error::other("the server ended").into(),
            }),
        }
    }

    /// Has the server open a session.
    pub async fn open(&self, wanted: Wanted) -> Result<(), Failure> {
        let (opened_in, opened) = oneshot::channel();
        // A server that ended drops the request.
        let _ = self.openings.send((wanted, opened_in)).await;
        opened.await.unwrap_or_else(|_| {
            Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the server ended"))
        })
    }

    /// The link that logs in the first browser, or the address if there is none.
    pub fn link(&self) -> &str {
        self.link.get().unwrap_or(&self.place)
    }

    /// Ends the sessions of the server in order.
    pub async fn end(self) {
        self.stop.notify_one();
        // A server that panicked has reported it.
        let _ = self.ended.await;
    }
}
