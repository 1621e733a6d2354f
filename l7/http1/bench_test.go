package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// typicalRequest is a browser's request without a proxy.
const typicalRequest = "GET /static/js/main.8f3a.js?v=12 HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\n" +
	"Accept-Encoding: gzip, deflate, br\r\n" +
	"Connection: keep-alive\r\n" +
	"Cookie: session=0123456789abcdef; theme=dark\r\n" +
	"Referer: http://www.example.com/index.html\r\n\r\n"

// toolRequest is the request of load generators.
const toolRequest = "GET /path HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"

// typicalResponse is a small response.
const typicalResponse = "HTTP/1.1 200 OK\r\n" +
	"Server: nginx/1.26.2\r\n" +
	"Date: Tue, 15 Oct 2024 10:00:00 GMT\r\n" +
	"Content-Type: text/html; charset=utf-8\r\n" +
	"Content-Length: 128\r\n" +
	"Last-Modified: Mon, 14 Oct 2024 10:00:00 GMT\r\n" +
	"Connection: keep-alive\r\n" +
	"ETag: \"670cfe90-80\"\r\n" +
	"Accept-Ranges: bytes\r\n\r\n"

var forward = &http1.Forward{ClientIP: []byte("192.0.2.17"), Proto: []byte("http")}

func BenchmarkRequestParse(b *testing.B) {
	for name, text := range map[string]string{"8fields": typicalRequest, "1field": toolRequest} {
		b.Run(name, func(b *testing.B) {
			head := []byte(text)
			r := new(http1.Request)
			b.ReportAllocs()
			b.SetBytes(int64(len(head)))
			for b.Loop() {
				if n, err := r.Parse(head); n != len(head) || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	for name, text := range map[string]string{"8fields": typicalRequest, "1field": toolRequest} {
		b.Run(name, func(b *testing.B) {
			r := new(http1.Request)
			if _, err := r.Parse([]byte(text)); err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				dst = http1.AppendRequest(dst[:0], r, forward)
			}
		})
	}
}

func BenchmarkRequestSlowTarget(b *testing.B) {
	head := []byte("GET /a%20b/%7euser//x/../y%c3%a9?q=1 HTTP/1.1\r\nHost: Example.com\r\n\r\n")
	r := new(http1.Request)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Parse(head); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResponse(b *testing.B) {
	head := []byte(typicalResponse)
	r := new(http1.Response)
	o := new(http1.ResponseOptions)
	dst := make([]byte, 0, 4096)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Parse(head); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dst = http1.AppendResponse(dst[:0], r, o)
		}
	})
}

func BenchmarkChunked(b *testing.B) {
	var body []byte
	for range 16 {
		body = append(body, "1000\r\n"...)
		body = append(body, make([]byte, 0x1000)...)
		body = append(body, "\r\n"...)
	}
	body = append(body, "0\r\n\r\n"...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var c http1.Chunked
	for b.Loop() {
		c.Reset(false)
		if _, _, err := c.Scan(body); err != nil || !c.Done() {
			b.Fatal(err)
		}
	}
}
