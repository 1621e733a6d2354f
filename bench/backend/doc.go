// Package backend is the server behind every measured proxy: fixed bodies of
// 128 B, 10 KiB and 1 MiB, and a sink for POST bodies that answers 128 B.
//
// The last segment of the path chooses the body (/128, /app042/10k, /1m), so
// prefix rules need no rewriting. Connections are kept alive unless the
// request says otherwise. One edge-triggered loop on one thread, no allocation
// per request: a request costs it one read, one write and its share of an
// epoll_wait. It speaks just enough HTTP/1.1 for well-behaved proxies (heads up
// to 64 KiB, Content-Length bodies) and answers 501 to chunked requests.
//
// Run as its own process: `bench backend ADDR:PORT`. It prints its address
// when it listens, a line of JSON with its counters for every line read from
// standard input, and ends when standard input does.
package backend
