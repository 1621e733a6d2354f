package client_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/l7test"
)

// window returns the setting of the initial window.
func window(n uint32) xhttp2.Setting {
	return xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: n}
}

// over ends the exchange by a call on the client.
func (v *visit) over(end func(c client.Client)) {
	v.do(func(c client.Client) { c.Serve(nil); end(c) })
}

func TestStreamsForwardResponsesUnchanged(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	const head = "HTTP/1.1 200 OK\r\n\r\n"
	id := uint32(1)
	for _, c := range []struct {
		do   func(c client.Client)
		want string
	}{
		{func(c client.Client) {
			_ = c.Interim([]byte("HTTP/1.1 103 Early\r\n\r\n"))
			_ = c.Respond([]byte(head), nil, true, false, nil)
		}, "HEADERS 103, HEADERS 200 end"},
		{func(c client.Client) { _ = c.Respond([]byte(head), []byte("part"), true, false, nil) }, "HEADERS 200, DATA part end"},
		{func(c client.Client) { _ = c.Respond([]byte(head), nil, true, false, []byte("sum: 1\r\n")) }, "HEADERS 200, TRAILERS sum=1 end"},
		{func(c client.Client) { _ = c.Respond([]byte(head), []byte("part"), true, true, []byte("sum: 1\r\n")) }, "HEADERS 200, DATA part, TRAILERS sum=1 end"},
		{func(c client.Client) {
			_ = c.Respond([]byte(head), []byte("part"), false, false, nil)
			_ = c.WriteBody([]byte(" more"), false, nil)
			_ = c.WriteBody([]byte(" last"), true, []byte("sum: 1\r\n"))
		}, "HEADERS 200, DATA part more last, TRAILERS sum=1 end"},
		{func(c client.Client) { _ = c.Respond([]byte(head), nil, false, false, nil) }, "HEADERS 200, DATA  end"}, // Finish sends the end
	} {
		p.Ask(id, true, "GET", "/")
		v := h.next()
		v.want("proceed")
		v.over(func(cl client.Client) { c.do(cl); cl.Finish(true, true) })
		for w := range strings.SplitSeq(c.want, ", ") {
			p.Want(fmt.Sprint(id, " ", w))
		}
		id += 2
	}
	l := h.Segment.Shard(0).Loop()
	if l.HTTP2Connections != 1 || l.HTTP2Streams != uint64(id/2) {
		t.Errorf("%d connections and %d streams are counted", l.HTTP2Connections, l.HTTP2Streams)
	}
	h.counted(1, 0)
	_ = p.Conn.Close()
	h.counted(0, 0)
}

func TestExchangesDecideHowStreamsEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	id := uint32(1)
	said := func(c client.Client) {
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("part"), false, false, nil)
	}
	for _, whole := range []bool{false, true} { // whether the request is complete
		for _, c := range []struct {
			end  func(c client.Client)
			want string
		}{
			{func(c client.Client) { said(c); c.Finish(true, whole) }, "HEADERS 200, DATA part, DATA  end"},
			{func(c client.Client) { said(c); c.Abort(true) }, "HEADERS 200, DATA part, RST_STREAM INTERNAL_ERROR"},
			{func(c client.Client) { c.Abort(false) }, "RST_STREAM INTERNAL_ERROR"},
			{func(c client.Client) { c.Close(true) }, "RST_STREAM CANCEL"},
			{func(c client.Client) { said(c); c.EndTunnel(true); c.Finish(true, whole) }, "HEADERS 200, DATA part, RST_STREAM CANCEL"},
			{func(c client.Client) { said(c); c.EndTunnel(false); c.Finish(true, whole) }, "HEADERS 200, DATA part, DATA  end"},
			{func(c client.Client) { c.Answer([]byte("HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nours"), true) }, "HEADERS 400, DATA ours end"},
			{func(c client.Client) { c.Answer([]byte("HTTP/1.1 400 Bad\r\n\r\n"), false) }, "HEADERS 400 end"},
		} {
			p.Ask(id, whole, "POST", "/")
			h.next().over(c.end)
			want := strings.Split(c.want, ", ")
			for _, w := range want {
				p.Want(fmt.Sprint(id, " ", w))
			}
			if !whole && strings.HasSuffix(c.want, " end") { // the rest of the request gets a moment
				h.skip(time.Second)
				h.skip(2 * time.Second)
				p.Want(fmt.Sprint(id, " RST_STREAM NO_ERROR"))
			}
			id += 2
		}
	}
	// A response to HEAD never has a body.
	p.Ask(id, true, "HEAD", "/")
	h.next().over(func(c client.Client) { c.Answer([]byte("HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\nours"), true) })
	p.Want(fmt.Sprint(id, " HEADERS 400 end"))
	_ = p.Conn.Close()
	h.counted(0, 0)
}

func TestStreamsDeliverBodiesAndTheirEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	p.Ask(1, false, "POST", "/", "content-length", "9")
	v := h.next()
	v.want("proceed")
	if text, err := v.read(100); text != "" || err != loop.ErrDry {
		t.Errorf("read %q, %v", text, err)
	}
	_ = p.WriteData(1, false, []byte("four"))
	v.want("readable")
	if text, err := v.read(2); text != "fo" || err != nil {
		t.Errorf("read %q, %v, want %q", text, err, "fo")
	}
	_ = p.WriteData(1, true, []byte(" five"))
	v.want("readable")
	v.do(func(c client.Client) { c.Unread(nil); c.Again() })
	v.want("readable")
	for _, want := range []struct {
		text string
		err  error
	}{{"ur five", nil}, {"", io.EOF}} {
		if text, err := v.read(100); text != want.text || err != want.err {
			t.Errorf("read %q, %v, want %q, %v", text, err, want.text, want.err)
		}
	}
	v.finish(true, true)
	p.Want("1 HEADERS 200", "1 DATA ok end")
	// Without a length it is chunked, with its trailer.
	p.Ask(3, false, "POST", "/")
	v = h.next()
	_ = p.WriteData(3, false, []byte("four"))
	_ = p.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 3, EndStream: true, EndHeaders: true, BlockFragment: p.Head("sum", "1")})
	v.want("proceed", "readable")
	h.taken(&l7test.Client{TCPConn: tcpOf(p)})
	got := ""
	for err := error(nil); err != io.EOF; {
		var text string
		if text, err = v.read(1000); err == loop.ErrDry {
			t.Fatalf("no more bytes after %q", got)
		}
		got += text
	}
	if !strings.HasSuffix(got, "4\r\nfour\r\n0\r\nsum: 1\r\n\r\n") {
		t.Errorf("it is read as %q", got)
	}
	v.finish(true, true)
	p.Want("3 HEADERS 200", "3 DATA ok end")
	// An unwanted body does not affect others.
	p.Ask(5, false, "POST", "/", "content-length", "3000000")
	v = h.next()
	v.do(func(client.Client) { v.refuses = true })
	v.want("proceed")
	block := make([]byte, 10000)
	for range 150 {
		_ = p.WriteData(5, false, block)
		p.Ask(7, true, "GET", "/")
	}
	_ = p.Conn.Close()
	h.counted(0, 0)
}

func TestStreamRoomEqualsTheWindow(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := l7test.DialFrames(t, h.farm.AddrPort().String(), window(8))
	p.Ask(1, true, "GET", "/")
	v := h.next()
	v.want("proceed")
	room := func(most, room, pending int) {
		t.Helper()
		v.do(func(c client.Client) {
			if got := c.Room(most); got != room || c.Pending() != pending {
				t.Errorf("of %d bytes %d find room, want %d; %d are pending, want %d", most, got, room, c.Pending(), pending)
			}
		})
	}
	room(2, 2, 0)
	room(100, 8, 0)
	v.do(func(c client.Client) {
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("12345678"), false, false, nil)
	})
	p.Want("1 HEADERS 200", "1 DATA 12345678")
	room(100, 0, 1) // a full window counts
	_ = p.WriteWindowUpdate(1, 4)
	v.want("drained")
	room(100, 4, 0)
	v.do(func(c client.Client) { _ = c.WriteBody([]byte("abcdefgh"), false, nil) })
	p.Want("1 DATA abcd")
	room(100, 0, 4)
	_ = p.WriteWindowUpdate(1, 2)
	p.Want("1 DATA ef")
	v.quiet()
	room(100, 0, 2)
	_ = p.WriteWindowUpdate(1, 3)
	p.Want("1 DATA gh")
	v.want("drained")
	room(100, 1, 0)
	v.do(func(c client.Client) {
		if c.WantsTunnel() {
			t.Error("it would take any answer for a tunnel")
		}
	})
	// A departed client has no room.
	_ = p.WriteRSTStream(1, xhttp2.ErrCodeCancel)
	v.want("gone")
	p.Ask(3, false, "CONNECT", "/", ":protocol", "websocket")
	h.next().over(func(c client.Client) {
		if !c.WantsTunnel() {
			t.Error("it waits for something else than a tunnel")
		}
		c.Close(false)
	})
	p.Want("3 RST_STREAM CANCEL")
	_ = p.Conn.Close()
	h.counted(0, 0)
}

func TestStreamsHaveTheirTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := l7test.DialFrames(t, h.farm.AddrPort().String(), window(4))
	p.Ask(1, true, "GET", "/")
	v := h.next()
	v.want("proceed")
	v.do(func(c client.Client) { c.SetDeadline(h.loop.Now() + int64(5*time.Second)) })
	h.skip(4 * time.Second)
	v.quiet()
	h.skip(2 * time.Second)
	v.want("expired")
	h.skip(10 * time.Second)
	v.quiet() // reported once
	v.do(func(c client.Client) {
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("12345678"), false, false, nil)
		c.Await(int64(5 * time.Second))
		c.Await(int64(time.Hour)) // already awaited
	})
	h.skip(9 * time.Second)
	v.quiet()
	h.skip(2 * time.Second)
	v.want("expired")
	_ = p.WriteWindowUpdate(1, 2)
	p.Want("1 HEADERS 200", "1 DATA 123456")
	for _, want := range []bool{false, true} { // it read something, then nothing
		v.do(func(c client.Client) {
			if got := c.Stalled(int64(5 * time.Second)); got != want {
				t.Errorf("it stalled: %t, want %t", got, want)
			}
		})
	}
	h.skip(9 * time.Second)
	v.quiet() // and the timeout restarts
	h.skip(2 * time.Second)
	v.want("expired")
	_ = p.WriteWindowUpdate(1, 2)
	p.Want("1 DATA 78")
	v.want("drained")
	// After the exchange, the stream keeps the unread rest.
	v.over(func(c client.Client) { _ = c.WriteBody([]byte("90"), true, nil); c.Finish(true, true) })
	h.skip(2*timeout - 2*time.Second)
	h.counted(1, 0)
	_ = p.WriteWindowUpdate(1, 1)
	p.Want("1 DATA 9")
	h.skip(4 * time.Second)
	h.skip(2*timeout - 4*time.Second)
	if n := h.Segment.SumFarm(1).Timeouts; n != 0 {
		t.Errorf("%d timeouts are counted although there was progress", n)
	}
	h.skip(6 * time.Second)
	p.Want("1 RST_STREAM CANCEL")
	if n := h.Segment.SumFarm(1).Timeouts; n != 1 {
		t.Errorf("%d time-outs are counted, want 1", n)
	}
	// Or the rest is read in the end.
	p.Ask(3, true, "GET", "/")
	v = h.next()
	v.over(func(c client.Client) {
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("12345678"), true, false, nil)
		c.Finish(true, true)
	})
	p.Want("3 HEADERS 200", "3 DATA 1234")
	_ = p.WriteWindowUpdate(3, 100)
	p.Want("3 DATA 5678 end")
	h.skip(timeout - 2*time.Second)
	h.counted(1, 0) // the last stream has just ended
	h.skip(4 * time.Second)
	p.Want("GOAWAY NO_ERROR", "end")
	h.counted(0, 0)
}

func TestConnectionsOfHTTP2HaveTheirTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	late := func(want uint64) {
		t.Helper()
		if n := h.Segment.SumFarm(1).Timeouts; n != want {
			t.Errorf("%d time-outs are counted, want %d", n, want)
		}
	}
	p := h.frames()
	h.counted(1, 1)
	h.skip(timeout - 2*time.Second)
	h.counted(1, 1)
	h.skip(4 * time.Second)
	p.Want("GOAWAY NO_ERROR", "end")
	h.counted(0, 0)
	late(0)
	// Half a frame, with or without another stream.
	for n, stream := range []bool{true, false} {
		p = h.frames()
		if stream {
			p.Ask(1, true, "GET", "/")
			h.next().want("proceed")
		}
		half := func(b []byte) {
			_, _ = p.Conn.Write(b)
			h.taken(&l7test.Client{TCPConn: tcpOf(p)})
		}
		ping := []byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00sluice..")
		half(ping[:5])
		h.skip(timeout - 4*time.Second)
		h.counted(1, map[bool]uint64{false: 1}[stream])
		if stream { // the next one has its own timeout
			half(ping[5:])
			half(ping[:5])
			h.skip(timeout - 4*time.Second)
			half(ping[5:7]) // which single bytes do not extend
			h.counted(1, 0)
		}
		h.skip(6 * time.Second)
		if got := p.Ended(); len(got) == 0 || got[len(got)-1] != "GOAWAY NO_ERROR" {
			t.Errorf("it ends with %q", got)
		}
		h.counted(0, 0)
		late(uint64(n + 1))
	}
	// A client that reads nothing.
	p = h.frames()
	p.Ask(1, true, "GET", "/")
	v := h.next()
	v.do(func(c client.Client) {
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), make([]byte, large), false, false, nil)
	})
	l7test.Eventually(t, "sockets are full", func() (full bool) {
		h.on(func() { full = v.client.From().Conn.Pending() > 0 })
		return full
	})
	h.skip(2 * time.Second)
	h.skip(2*timeout - 2*time.Second)
	h.counted(1, 0)
	if _, err := io.CopyN(io.Discard, p.Conn, large/8); err != nil { // it reads something
		t.Fatal(err)
	}
	h.skip(2 * time.Second)
	h.skip(2*timeout - 2*time.Second)
	h.counted(1, 0)
	l7test.Eventually(t, "it is left", func() bool {
		h.skip(2 * timeout) // sockets may have accepted more meanwhile
		return h.Segment.SumFarm(1).Established == 0
	})
	v.want("proceed", "gone")
	late(3)
	for _, want := range []string{"frame not complete in time", "answer not taken in time"} {
		l7test.Eventually(t, "a line says "+want, func() bool { return len(h.Log.Lines(want)) > 0 })
	}
}

// The output of several streams in one backend event leaves together.
func TestStreamFramesAreInterleaved(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	p.Ask(1, true, "GET", "/")
	first := h.next()
	p.Ask(3, true, "GET", "/")
	second := h.next()
	first.do(func(c client.Client) {
		from := c.From()
		if from.Kept() != nil || from.Keep() == nil || from.Keep() != from.Kept() || second.client.From() != from {
			t.Error("the streams of a client do not share one kept object")
		}
		if !from.Cork() || from.Cork() {
			t.Error("it is corked twice, or not at all")
		}
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), nil, true, false, nil)
		_ = second.client.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), nil, true, false, nil)
		from.Uncork(false)
		from.Uncork(true)
	})
	p.Want("1 HEADERS 200 end", "3 HEADERS 200 end")
	for _, v := range []*visit{first, second} {
		v.over(func(c client.Client) { c.Finish(true, true) })
	}
	p.Ask(5, true, "GET", "/")
	h.next().over(func(c client.Client) {
		from := c.From()
		corked := from.Cork()
		_ = c.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), nil, true, false, nil)
		c.Finish(true, true)
		from.Uncork(corked)
	})
	p.Want("5 HEADERS 200 end")
	one := h.dial().Send(get("/"))
	h.next().over(func(c client.Client) {
		from := c.From()
		if from.Cork() || from.Kept() != nil || from.Keep() == nil || from.Keep() != from.Kept() || from.Version != 0 || from.Frames {
			t.Error("an HTTP/1 connection has properties of HTTP/2")
		}
		from.Uncork(false)
		c.Close(false)
	})
	_, _ = ends(one)
	_ = p.Conn.Close()
	h.counted(0, 0)
}

// Requests of one read begin in order; cancelled ones leave no gap.
func TestRequestsOfOneReadStartInOrder(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	const streams = 100
	gone := func(i int) bool { return i == 0 || i == 1 || i == 50 || i == streams-1 }
	together(t, p, func() {
		for i := range streams {
			p.Ask(uint32(2*i+1), true, "GET", fmt.Sprint("/", i))
		}
		for i := range streams {
			if gone(i) {
				_ = p.WriteRSTStream(uint32(2*i+1), xhttp2.ErrCodeCancel)
			}
		}
	})
	var all []*visit
	for i := range streams {
		if gone(i) {
			continue
		}
		v := h.next()
		if !strings.HasPrefix(v.head, fmt.Sprintf("GET /%d HTTP/1.1\r\n", i)) {
			t.Fatalf("request %d is %q", i, v.head)
		}
		v.want("proceed")
		all = append(all, v)
	}
	if n := h.Segment.SumFarm(1).ClientAborts; n != 4 {
		t.Errorf("%d were counted as gone, want 4", n)
	}
	for _, v := range all {
		v.finish(true, true)
	}
	_ = p.Conn.Close()
	h.counted(0, 0)
}

// A panic in work for a client ends its connection and exchanges.
func TestPanicsCostTheirConnection(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	c, p := h.dial().Send(get("/")), h.frames()
	one := h.next()
	p.Ask(1, true, "GET", "/")
	first := h.next()
	p.Ask(3, true, "GET", "/")
	second := h.next()
	idle := h.dial().Send("GET / HT")
	h.counted(3, 1)
	h.taken(idle)
	first.breaks = true
	h.on(func() {
		for _, v := range []*visit{one, first} {
			func() {
				defer v.client.From().Conn.Contain()
				panic("on purpose")
			}()
		}
		h.loop.Each(func(c *loop.Conn) {
			defer c.Contain()
			panic("on purpose")
		})
	})
	for _, v := range []*visit{one, first, second} {
		v.want("proceed", "end")
	}
	if _, reset := ends(c); !reset {
		t.Error("its connection ends in order")
	}
	h.counted(0, 0)
	count := &h.Segment.Shard(0).Loop().Panics
	h.on(func() {
		if *count != 4 {
			t.Errorf("%d panics were contained", *count)
		}
		*count = 0
	})
}

// The heads of one connection have a common limit.
func TestHeadsOfOneConnectionAreBounded(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	big := strings.Repeat("x", 32<<10)
	var all []*visit
	id := uint32(1)
	size := 0
	for ; ; id += 2 {
		p.Ask(id, true, "GET", "/", "x-big", big)
		if size+len(big) > maxHeads-(1<<10) {
			break
		}
		all = append(all, h.next())
		size += len(all[len(all)-1].head)
	}
	p.Want(fmt.Sprint(id, " RST_STREAM REFUSED_STREAM"))
	if size > maxHeads || size < maxHeads-(40<<10) {
		t.Errorf("%d bytes of heads were accepted", size)
	}
	all[0].finish(true, true)
	p.Want("1 HEADERS 200", "1 DATA ok end")
	p.Ask(id+2, true, "GET", "/", "x-big", big)
	all = append(all[1:], h.next())
	for _, v := range all {
		v.over(func(c client.Client) { c.Close(true) })
	}
	_ = p.Conn.Close()
	h.counted(0, 0)
}

// upload sends a part of an upload on stream 1 and returns its visit. The part has arrived.
func (h *harness) upload(p *l7test.FrameClient, size int) *visit {
	p.Ask(1, false, "POST", "/")
	v := h.next()
	for ; size > 0; size -= 13_107 {
		_ = p.WriteData(1, false, make([]byte, min(size, 13_107)))
	}
	p.Ask(3, true, "GET", "/") // arrives after the data
	h.rejected(p, 3, h.next())
	return v
}

func (h *harness) rejected(p *l7test.FrameClient, id int, v *visit) {
	h.t.Helper()
	v.over(func(c client.Client) { c.Answer([]byte("HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n"), true) })
	p.Want(fmt.Sprint(id, " HEADERS 413 end"))
}

// A client that has used up its window, e.g. Node.js, may wait for the reset of its upload.
func TestStalledUploadsAreResetSoon(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for range 20 { // the second tick of the connection, after a second at least, resets them, too
		p := h.frames()
		h.rejected(p, 1, h.upload(p, 65_535))
		began := time.Now()
		h.skip(300 * time.Millisecond)
		p.Want("1 RST_STREAM NO_ERROR")
		if time.Since(began) < 600*time.Millisecond {
			return
		}
	}
	t.Error("the reset is late")
}

func TestActiveUploadsAreResetByTicks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	p := h.frames()
	h.rejected(p, 1, h.upload(p, 10))
	h.skip(time.Second)
	h.skip(2 * time.Second)
	p.Want("1 RST_STREAM NO_ERROR")
}
