package l7test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// FrameServer is a backend connection that works with HTTP/2 frame by frame.
type FrameServer struct {
	*xhttp2.Framer
	Conn  net.Conn
	N     int                          // number of the connection, from 1
	Heads map[uint32]map[string]string // request fields by stream
	enc   *hpack.Encoder
	dec   *hpack.Decoder
	block strings.Builder
}

// NewFrameServer starts a backend that runs script for each connection, after the preface
// was read and the settings were sent. accepted counts the connections.
func NewFrameServer(t testing.TB, script func(s *FrameServer), settings ...xhttp2.Setting) (addr string, accepted *atomic.Int32) {
	t.Helper()
	accepted = new(atomic.Int32)
	b := NewBackend(t, func(c *Recorder) {
		s := &FrameServer{
			Framer: xhttp2.NewFramer(c.TCPConn, c.TCPConn), Conn: c.TCPConn, N: int(accepted.Add(1)),
			Heads: map[uint32]map[string]string{}, dec: hpack.NewDecoder(4096, nil),
		}
		s.AllowIllegalWrites = true
		s.enc = hpack.NewEncoder(&s.block)
		preface := make([]byte, len(xhttp2.ClientPreface))
		if _, err := io.ReadFull(c.TCPConn, preface); err != nil || string(preface) != xhttp2.ClientPreface {
			return
		}
		_ = s.WriteSettings(settings...)
		script(s)
		_, _ = io.Copy(io.Discard, c.TCPConn)
	})
	return b.Addr, accepted
}

// Next returns the next frame as text: "1 GET /path", with " end" if nothing follows, "1
// DATA bytes", "1 TRAILERS name=value", "1 RST_STREAM CANCEL", "GOAWAY NO_ERROR", "PING", or
// "end". It skips SETTINGS, WINDOW_UPDATE and acknowledgements.
func (s *FrameServer) Next() string {
	for {
		f, err := s.ReadFrame()
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
			fields, _ := s.dec.DecodeFull(f.HeaderBlockFragment())
			if s.Heads[id] != nil {
				return fmt.Sprintf("%d TRAILERS %s=%s%s", id, fields[0].Name, fields[0].Value, end)
			}
			head := map[string]string{}
			for _, f := range fields {
				head[f.Name] = f.Value
			}
			s.Heads[id] = head
			return fmt.Sprintf("%d %s %s%s", id, head[":method"], head[":path"], end)
		case *xhttp2.PingFrame:
			if !f.IsAck() {
				return "PING"
			}
		case *xhttp2.SettingsFrame:
			if !f.IsAck() {
				_ = s.WriteSettingsAck()
			}
		default:
			if text := frameText(f, end); text != "" {
				return text
			}
		}
	}
}

// frameText returns the text of a frame common to both sides, or "".
func frameText(f xhttp2.Frame, end string) string {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *xhttp2.DataFrame:
		return fmt.Sprintf("%d DATA %s%s", id, f.Data(), end)
	case *xhttp2.RSTStreamFrame:
		return fmt.Sprintf("%d RST_STREAM %v", id, f.ErrCode)
	case *xhttp2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %v", f.ErrCode)
	}
	return ""
}

// Request returns the stream and path of the next request, or 0 at the end of the
// connection.
func (s *FrameServer) Request() (id uint32, path string) {
	for {
		got := s.Next()
		if got == "end" {
			return 0, ""
		}
		var method string
		if n, _ := fmt.Sscanf(got, "%d %s %s", &id, &method, &path); n == 3 && strings.HasPrefix(path, "/") {
			return id, path
		}
	}
}

// Head sends a head: the status, then name-value pairs.
func (s *FrameServer) Head(id uint32, end bool, status string, fields ...string) {
	s.Fields(id, end, append([]string{":status", status}, fields...)...)
}

// Fields sends a header block of name-value pairs.
func (s *FrameServer) Fields(id uint32, end bool, fields ...string) {
	_ = s.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: true, BlockFragment: s.Encode(fields...)})
}

// Encode returns a header block of name-value pairs.
func (s *FrameServer) Encode(fields ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = s.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return []byte(s.block.String())
}

// Answer sends a complete response.
func (s *FrameServer) Answer(id uint32, body string) {
	s.Head(id, false, "200", "x-conn", fmt.Sprint(s.N))
	for ; len(body) > 16384; body = body[16384:] {
		_ = s.WriteData(id, false, []byte(body[:16384]))
	}
	_ = s.WriteData(id, true, []byte(body))
}

// Serve responds to all requests.
func (s *FrameServer) Serve() {
	for {
		id, path := s.Request()
		if id == 0 {
			return
		}
		s.Answer(id, path)
	}
}

// Bodies reads requests with bodies until the end of the connection and calls handle for
// each complete one.
func (s *FrameServer) Bodies(handle func(id uint32, path, body string)) {
	path, body := map[uint32]string{}, map[uint32]string{}
	for {
		got := s.Next()
		var id uint32
		var what, rest string
		n, _ := fmt.Sscanf(got, "%d %s %s", &id, &what, &rest)
		switch {
		case got == "end":
			return
		case n < 2:
			continue
		case what == "DATA":
			body[id] += strings.TrimSuffix(got[strings.Index(got, "DATA ")+5:], " end")
			_ = s.WriteWindowUpdate(0, 16384)
			_ = s.WriteWindowUpdate(id, 16384)
		case strings.HasPrefix(rest, "/"):
			path[id] = rest
		}
		if strings.HasSuffix(got, " end") {
			handle(id, path[id], body[id])
		}
	}
}
