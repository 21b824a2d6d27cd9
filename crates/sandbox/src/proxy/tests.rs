use std::net::{Ipv4Addr, SocketAddr};

use super::*;

/// A server that answers every connection with what it was sent first.
async fn echo() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 1024];
            let count = stream.read(&mut buffer).await.unwrap();
            stream.write_all(&buffer[..count]).await.unwrap();
        }
    });
    address
}

fn proxy(names: &[String]) -> (Proxy, SocketAddr, tokio::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let hosts = Hosts { names: names.to_vec(), key: "the key".to_owned() };
    let (sender, heard) = tokio::sync::mpsc::channel(64);
    let notice: Notice = Arc::new(move |text| drop(sender.try_send(text)));
    let told = (Some(notice), None);
    let proxy = Proxy::start(listener, &hosts, None, told, BlockedLog::default()).unwrap();
    (proxy, address, heard)
}

async fn ask(proxy: SocketAddr, parts: &[&str]) -> String {
    let mut stream = TcpStream::connect(proxy).await.unwrap();
    for part in parts {
        stream.write_all(part.as_bytes()).await.unwrap();
    }
    stream.shutdown().await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn granted_host_is_reached_by_tunnel_and_plain_request() {
    let server = echo().await;
    let (_proxy, address, _heard) = proxy(&[server.to_string()]);
    let tunnel = format!("CONNECT {server} HTTP/1.1\r\nHost: x\r\n\r\nhello");
    let heard = ask(address, &[&tunnel]).await;
    assert_eq!(heard, "HTTP/1.1 200 Connection established\r\n\r\nhello");
    let plain = format!("GET http://{server}/a HTTP/1.1\r\nHost: evil\r");
    let heard = ask(address, &[&plain, "\n\r\n"]).await;
    assert!(heard.starts_with("GET /a HTTP/1.1\r\nHost: 127.0.0.1:"), "{heard}");
}

#[tokio::test]
async fn other_host_is_refused_with_a_reason() {
    let server = echo().await;
    let (_proxy, address, mut heard) = proxy(&["other.test".to_owned(), "*".to_owned()]);
    let text = ask(address, &[&format!("CONNECT {server} HTTP/1.1\r\n\r\n")]).await;
    assert!(text.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{text}");
    assert!(text.contains("the private address 127.0.0.1"), "{text}");
    assert!(heard.recv().await.unwrap().contains("`the key`"));
    let text = ask(address, &["nonsense\r\n\r\n"]).await;
    assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
}

#[tokio::test]
async fn dropped_proxy_closes_its_connections() {
    let server = echo().await;
    let (proxy, address, _heard) = proxy(&[server.to_string()]);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await.unwrap();
    drop(proxy);
    assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
}

#[test]
fn granted_loopback_is_reached_through_the_proxy() {
    let of = |name: &str| {
        let hosts = Hosts { names: vec![name.to_owned()], key: String::new() };
        variables(&hosts).into_iter().find(|(name, _)| name == "NO_PROXY").unwrap().1
    };
    assert_eq!(of("example.org"), "localhost,127.0.0.1,::1");
    assert_eq!((of("localhost"), of("127.0.0.1:80"), of("[::1]:80")), Default::default());
}
