package l7test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// FrameClient is an HTTP/2 client with prior knowledge that works frame by frame.
type FrameClient struct {
	*xhttp2.Framer
	Conn  net.Conn
	t     testing.TB
	block bytes.Buffer
	enc   *hpack.Encoder
	dec   *hpack.Decoder
}

// DialFrames connects and sends the preface. Without settings its windows are wide open.
func DialFrames(t testing.TB, addr string, settings ...xhttp2.Setting) *FrameClient {
	t.Helper()
	return NewFrameClient(t, Dial(t, addr).TCPConn).Greet(settings...)
}

// NewFrameClient returns a client on an unused connection.
func NewFrameClient(t testing.TB, conn net.Conn) *FrameClient {
	c := &FrameClient{Framer: xhttp2.NewFramer(conn, conn), Conn: conn, t: t, dec: hpack.NewDecoder(4096, nil)}
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// Greet sends the preface and settings. Without settings the windows are wide open.
func (c *FrameClient) Greet(settings ...xhttp2.Setting) *FrameClient {
	_, _ = io.WriteString(c.Conn, xhttp2.ClientPreface)
	if len(settings) == 0 {
		settings = []xhttp2.Setting{{ID: xhttp2.SettingInitialWindowSize, Val: 1 << 24}}
	}
	_ = c.WriteSettings(settings...)
	_ = c.WriteWindowUpdate(0, 1<<24)
	return c
}

// Head encodes a head of name-value pairs.
func (c *FrameClient) Head(fields ...string) []byte {
	c.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return c.block.Bytes()
}

// Ask opens a stream with a request.
func (c *FrameClient) Ask(id uint32, end bool, method, path string, more ...string) {
	fields := append([]string{":method", method, ":scheme", "http", ":authority", "a.test", ":path", path}, more...)
	const most = 16 << 10 // per frame
	block := c.Head(fields...)
	first := block[:min(most, len(block))]
	block = block[len(first):]
	_ = c.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: len(block) == 0, BlockFragment: first})
	for len(block) > 0 {
		part := block[:min(most, len(block))]
		block = block[len(part):]
		_ = c.WriteContinuation(id, len(block) == 0, part)
	}
}

// Next returns the next frame as text: "1 HEADERS 200 end", "1 DATA ok end", "1 RST_STREAM
// NO_ERROR", "GOAWAY NO_ERROR", or "end" at the end of the connection. It skips SETTINGS,
// WINDOW_UPDATE and PING.
func (c *FrameClient) Next() string {
	for {
		f, err := c.ReadFrame()
		if err != nil {
			return "end"
		}
		end := ""
		if f.Header().Flags.Has(xhttp2.FlagDataEndStream) {
			end = " end"
		}
		id := f.Header().StreamID
		switch f := f.(type) {
		case *xhttp2.HeadersFrame:
			fields, _ := c.dec.DecodeFull(f.HeaderBlockFragment())
			if fields[0].Name != ":status" {
				return fmt.Sprintf("%d TRAILERS %s=%s%s", id, fields[0].Name, fields[0].Value, end)
			}
			return fmt.Sprintf("%d HEADERS %s%s", id, fields[0].Value, end)
		default:
			if text := frameText(f, end); text != "" {
				return text
			}
		}
	}
}

// Want checks the next frames. Consecutive DATA frames of one stream count as one.
func (c *FrameClient) Want(frames ...string) {
	c.t.Helper()
	for _, want := range frames {
		got := c.Next()
		for strings.Contains(got, " DATA ") && got != want && strings.HasPrefix(want, got) {
			more := c.Next()
			got += more[strings.Index(more, " DATA ")+len(" DATA "):]
		}
		if got != want {
			c.t.Fatalf("got %.200q, want %.200q", got, want)
		}
	}
}

// Ended waits for the end of the connection and returns the frames before it.
func (c *FrameClient) Ended() (frames []string) {
	c.t.Helper()
	_ = c.Conn.SetReadDeadline(time.Now().Add(8 * time.Second))
	for {
		f := c.Next()
		if f == "end" {
			return frames
		}
		frames = append(frames, f)
	}
}
