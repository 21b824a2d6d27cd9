//! Runs of agents. Each belongs to the server, and ends in order when the server ends.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::role_host::Listener;

#[derive(Default)]
pub(super) struct Runs {
    tasks: RefCell<JoinSet<()>>,
    ending: watch::Sender<bool>,
}

impl Runs {
    /// Starts a task that goes on if its client goes away.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.tasks.borrow_mut();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(task);
    }

    /// Does the work. Has it end early when `until` is done, or when the server ends.
    pub(super) async fn run<T>(
        &self,
        work: impl AsyncFnOnce(Listener) -> T,
        tell: Rc<dyn Fn(&str)>,
        until: impl Future<Output = ()>,
    ) -> T {
        let stop = watch::Sender::new(false);
        let mut ending = self.ending.subscribe();
        let working = work(Listener { tell, stop: stop.subscribe() });
        tokio::pin!(working);
        tokio::select! {
            done = &mut working => return done,
            () = until => {}
            _ = ending.wait_for(|ends| *ends) => {}
        }
        stop.send_replace(true);
        working.await
    }

    /// Ends all runs, and waits for that.
    pub(super) async fn end(&self) {
        self.ending.send_replace(true);
        let mut tasks = self.tasks.take();
        while tasks.join_next().await.is_some() {}
    }
}
