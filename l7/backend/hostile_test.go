package backend_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

// attack is a misbehaviour of a backend for one request.
type attack struct {
	does    func(h *l7test.FrameServer, id uint32)
	aborted bool   // the response had begun: the client sees it truncated, not a 502
	reason  string // in the log
}

func bytesOf(frame string) func(h *l7test.FrameServer, id uint32) {
	return func(h *l7test.FrameServer, _ uint32) { _, _ = io.WriteString(h.Conn, frame) }
}

func flood(n int, frame func(h *l7test.FrameServer, id uint32)) func(h *l7test.FrameServer, id uint32) {
	return func(h *l7test.FrameServer, id uint32) {
		for range n {
			frame(h, id)
		}
	}
}

func block(end bool, fields ...string) func(h *l7test.FrameServer, id uint32) {
	return func(h *l7test.FrameServer, id uint32) { h.Fields(id, end, fields...) }
}

// ofAStream holds attacks that cost one stream.
var ofAStream = map[string]attack{
	"no status":                      {block(true, "server", "x"), false, "pseudo field missing"},
	"status twice":                   {block(true, ":status", "200", ":status", "200"), false, "pseudo field"},
	"status after a field":           {block(true, "server", "x", ":status", "200"), false, "pseudo field"},
	"pseudo field of requests":       {block(true, ":status", "200", ":path", "/"), false, "pseudo field"},
	"status of two digits":           {block(true, ":status", "20"), false, "status"},
	"status 999":                     {block(true, ":status", "999"), false, "status"},
	"switch of protocols":            {block(false, ":status", "101"), false, "status"},
	"upper-case name":                {block(true, ":status", "200", "Server", "x"), false, "malformed field name"},
	"blank in a name":                {block(true, ":status", "200", "a b", "x"), false, "malformed field name"},
	"line break in a value":          {block(true, ":status", "200", "a", "x\r\nb: c"), false, "control byte"},
	"connection field":               {block(true, ":status", "200", "connection", "close"), false, "connection-specific"},
	"transfer-encoding":              {block(true, ":status", "200", "transfer-encoding", "chunked"), false, "connection-specific"},
	"two lengths":                    {block(false, ":status", "200", "content-length", "1", "content-length", "1"), false, "length"},
	"length with a sign":             {block(false, ":status", "200", "content-length", "+1"), false, "length"},
	"length, but no data":            {block(true, ":status", "200", "content-length", "5"), false, "length"},
	"interim that ends":              {block(true, ":status", "103"), false, "status"},
	"many interim answers":           {flood(17, block(false, ":status", "103")), false, "too many interim answers"},
	"head beyond the bound":          {block(true, append([]string{":status", "200"}, slices.Repeat([]string{"x", strings.Repeat("0", 4000)}, 20)...)...), false, "too long"},
	"data before the head":           {func(h *l7test.FrameServer, id uint32) { _ = h.WriteData(id, true, []byte("x")) }, false, "before"},
	"reset":                          {func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, xhttp2.ErrCodeInternal) }, false, "backend reset the stream: INTERNAL_ERROR"},
	"reset with a code nobody knows": {func(h *l7test.FrameServer, id uint32) { _ = h.WriteRSTStream(id, 4711) }, false, "backend reset the stream"},
	"window update of zero":          {func(h *l7test.FrameServer, id uint32) { _ = h.WriteWindowUpdate(id, 0) }, false, "window update of zero"},
	"window beyond its bound":        {func(h *l7test.FrameServer, id uint32) { _ = h.WriteWindowUpdate(id, 1<<31-1) }, false, "window larger"},

	"more data than its length": {func(h *l7test.FrameServer, id uint32) {
		h.Head(id, false, "200", "content-length", "3")
		_ = h.WriteData(id, true, []byte("four"))
	}, true, "length"},
	"less data than its length": {func(h *l7test.FrameServer, id uint32) {
		h.Head(id, false, "200", "content-length", "30")
		_ = h.WriteData(id, true, []byte("four"))
	}, true, "length"},
	"reset within the body": {func(h *l7test.FrameServer, id uint32) {
		h.Head(id, false, "200")
		_ = h.WriteData(id, false, []byte("four"))
		_ = h.WriteRSTStream(id, xhttp2.ErrCodeEnhanceYourCalm)
	}, true, "backend reset the stream: ENHANCE_YOUR_CALM"},
	"trailers that do not end": {func(h *l7test.FrameServer, id uint32) {
		h.Head(id, false, "200")
		_ = h.WriteData(id, false, []byte("four"))
		h.Fields(id, false, "a", "b")
	}, true, "trailers"},
	"pseudo fields in trailers": {func(h *l7test.FrameServer, id uint32) {
		h.Head(id, false, "200")
		h.Fields(id, true, ":status", "200")
	}, true, "pseudo field"},
}

// ofAConnection holds attacks that cost the connection.
var ofAConnection = map[string]attack{
	"frame too large": {bytesOf("\x00\xff\xff\x00\x00\x00\x00\x00\x01"), false, "frame larger"},
	"push": {func(h *l7test.FrameServer, id uint32) {
		_ = h.WritePushPromise(xhttp2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: h.Encode(":method", "GET"), EndHeaders: true})
	}, false, "PUSH_PROMISE"},
	"head on an idle stream":  {func(h *l7test.FrameServer, _ uint32) { h.Head(4711, true, "200") }, false, "idle"},
	"head on a stream of its": {func(h *l7test.FrameServer, _ uint32) { h.Head(2, true, "200") }, false, "idle"},
	"data on no stream":       {bytesOf("\x00\x00\x01\x00\x00\x00\x00\x00\x00x"), false, "stream it cannot be on"},
	"block that is no block":  {bytesOf("\x00\x00\x02\x01\x05\x00\x00\x00\x01\xff\xff"), false, "decompressed"},
	"continuation of nothing": {bytesOf("\x00\x00\x01\x09\x04\x00\x00\x00\x01\x88"), false, "header block interrupted"},
	"block interrupted": {func(h *l7test.FrameServer, id uint32) {
		_ = h.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, BlockFragment: h.Encode(":status", "200")})
		_ = h.WritePing(false, [8]byte{})
	}, false, "header block interrupted"},
	"settings of a wrong size": {bytesOf("\x00\x00\x05\x04\x00\x00\x00\x00\x00abcde"), false, "wrong length"},
	"initial window too large": {func(h *l7test.FrameServer, _ uint32) {
		_ = h.WriteSettings(xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 1 << 31})
	}, false, "initial window"},
	"padding beyond the frame": {bytesOf("\x00\x00\x02\x00\x08\x00\x00\x00\x01\xff\x00"), false, "padding"},
	"ping flood":               {flood(20_000, func(h *l7test.FrameServer, _ uint32) { _ = h.WritePing(false, [8]byte{}) }), false, "PING"},
	"settings flood":           {flood(20_000, func(h *l7test.FrameServer, _ uint32) { _ = h.WriteSettings() }), false, "SETTINGS"},
	"window update flood":      {flood(20_000, func(h *l7test.FrameServer, id uint32) { _ = h.WriteWindowUpdate(id, 1) }), false, "WINDOW_UPDATE"},
	"flood of unknown frames":  {flood(20_000, bytesOf("\x00\x00\x00\x77\x00\x00\x00\x00\x00")), false, "unknown"},
	"flood of resets":          {flood(20_000, func(h *l7test.FrameServer, _ uint32) { _ = h.WriteRSTStream(1, xhttp2.ErrCodeNo) }), false, ""},
	"continuation flood": {func(h *l7test.FrameServer, id uint32) {
		_ = h.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, BlockFragment: h.Encode(":status", "200")})
		flood(200, func(h *l7test.FrameServer, id uint32) { _ = h.WriteContinuation(id, false, nil) })(h, id)
	}, false, "CONTINUATION"},
	"end of the connection":     {func(h *l7test.FrameServer, _ uint32) { _ = h.Conn.Close() }, false, "connection ended before the answer"},
	"bytes of another protocol": {bytesOf("HTTP/1.1 400 Bad Request\r\n\r\n"), false, "frame larger"},
}

// hostile is an appliance before a backend that behaves well except for /bad. Requests for
// /slow get their response after /now.
func hostile(t *testing.T, a attack) (*l7test.Appliance, func(path string) (status int, body string, err error), chan string) {
	held := make(chan string, 10)
	addr, _ := l7test.NewFrameServer(t, func(h *l7test.FrameServer) {
		var slow uint32
		for {
			id, path := h.Request()
			switch path {
			case "":
				return
			case "/slow":
				slow = id
				held <- path
			case "/bad":
				a.does(h, id)
			case "/now":
				if slow > 0 {
					h.Answer(slow, "/slow")
				}
				h.Answer(id, path)
			default:
				h.Answer(id, path)
			}
		}
	})
	appliance := l7test.New(t, 1)
	front := appliance.Serve(nil, l7test.HTTP2Service(false, addr))
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	t.Cleanup(client.CloseIdleConnections)
	return appliance, func(path string) (int, string, error) {
		res, err := client.Get("http://" + front + path)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		return res.StatusCode, string(body), err
	}, held
}

func (a *attack) check(t *testing.T, appliance *l7test.Appliance, status int, err error) {
	t.Helper()
	if a.aborted != (err != nil) || !a.aborted && status != 502 {
		t.Errorf("the client got status %d, %v", status, err)
	}
	l7test.Eventually(t, "a line in the log that says "+a.reason, func() bool { return strings.Contains(appliance.Log.String(), a.reason) })
	appliance.Turn() // which wrote the line
	if n := appliance.Segment.SumBackend(1); n.BadResponses+n.Resets == 0 || n.Pending != 0 {
		t.Errorf("counted %+v", n)
	}
}

func TestHostileStreamOfABackendCostsItsExchangeOnly(t *testing.T) {
	t.Parallel()
	for name, a := range ofAStream {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			appliance, get, held := hostile(t, a)
			slow := make(chan string, 1)
			go func() {
				status, body, err := get("/slow")
				slow <- fmt.Sprint(status, body, err)
			}()
			<-held
			status, _, err := get("/bad")
			a.check(t, appliance, status, err)
			if status, body, err := get("/now"); status != 200 || body != "/now" || err != nil {
				t.Errorf("afterwards: %d %q %v", status, body, err)
			}
			if got := <-slow; got != "200/slow<nil>" {
				t.Errorf("another exchange got %s, want %s", got, "200/slow<nil>")
			}
			if n := appliance.Segment.SumBackend(1); n.Connects != 1 {
				t.Errorf("%d connections: %+v\n%s", n.Connects, n, appliance.Log.String())
			}
		})
	}
}

func TestHostileConnectionOfABackendCostsItsExchangesOnly(t *testing.T) {
	t.Parallel()
	for name, a := range ofAConnection {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			appliance, get, _ := hostile(t, a)
			for range 2 {
				status, _, err := get("/bad")
				a.check(t, appliance, status, err)
				if status, body, err := get("/now"); status != 200 || body != "/now" || err != nil {
					t.Errorf("afterwards: %d %q %v", status, body, err)
				}
			}
		})
	}
}
