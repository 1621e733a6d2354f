package proxy_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluicelb/sluice/l7/l7test"
)

// host is a connection of a backend that speaks HTTP/2 frame by frame.
type host struct {
	*xhttp2.Framer
	conn  net.Conn
	n     int // which connection it is, from 1
	heads map[uint32]map[string]string
	enc   *hpack.Encoder
	dec   *hpack.Decoder
	block strings.Builder
}

// newHost starts a backend each of whose connections is served by script, after
// the preface was read and the settings were sent. accepted counts them.
func newHost(t *testing.T, script func(h *host), settings ...xhttp2.Setting) (addr string, accepted *atomic.Int32) {
	t.Helper()
	accepted = new(atomic.Int32)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		h := &host{conn: c.TCPConn, n: int(accepted.Add(1)), Framer: xhttp2.NewFramer(c.TCPConn, c.TCPConn), heads: map[uint32]map[string]string{}, dec: hpack.NewDecoder(4096, nil)}
		h.AllowIllegalWrites = true
		h.enc = hpack.NewEncoder(&h.block)
		preface := make([]byte, len(xhttp2.ClientPreface))
		if _, err := io.ReadFull(c.TCPConn, preface); err != nil || string(preface) != xhttp2.ClientPreface {
			return
		}
		_ = h.WriteSettings(settings...)
		script(h)
		_, _ = io.Copy(io.Discard, c.TCPConn)
	})
	return b.Addr, accepted
}

// next gives the next frame as text: "1 GET /path", with " end" if nothing
// follows, "1 DATA bytes", "1 TRAILERS name=value", "1 RST_STREAM CANCEL",
// "GOAWAY NO_ERROR", "PING", "end". Settings, window updates and acks are left
// out.
func (h *host) next() string {
	for {
		f, err := h.ReadFrame()
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
			fields, _ := h.dec.DecodeFull(f.HeaderBlockFragment())
			if h.heads[id] != nil {
				return fmt.Sprintf("%d TRAILERS %s=%s%s", id, fields[0].Name, fields[0].Value, end)
			}
			head := map[string]string{}
			for _, f := range fields {
				head[f.Name] = f.Value
			}
			h.heads[id] = head
			return fmt.Sprintf("%d %s %s%s", id, head[":method"], head[":path"], end)
		case *xhttp2.DataFrame:
			return fmt.Sprintf("%d DATA %s%s", id, f.Data(), end)
		case *xhttp2.RSTStreamFrame:
			return fmt.Sprintf("%d RST_STREAM %v", id, f.ErrCode)
		case *xhttp2.GoAwayFrame:
			return fmt.Sprintf("GOAWAY %v", f.ErrCode)
		case *xhttp2.PingFrame:
			if !f.IsAck() {
				return "PING"
			}
		case *xhttp2.SettingsFrame:
			if !f.IsAck() {
				_ = h.WriteSettingsAck()
			}
		}
	}
}

// request gives the stream and the path of the next request; 0 when there is
// none any more.
func (h *host) request() (id uint32, path string) {
	for {
		got := h.next()
		if got == "end" {
			return 0, ""
		}
		var method string
		if n, _ := fmt.Sscanf(got, "%d %s %s", &id, &method, &path); n == 3 && strings.HasPrefix(path, "/") {
			return id, path
		}
	}
}

// head sends a head: the status, then pairs of name and value.
func (h *host) head(id uint32, end bool, status string, fields ...string) {
	h.fields(id, end, append([]string{":status", status}, fields...)...)
}

// fields sends a header block.
func (h *host) fields(id uint32, end bool, fields ...string) {
	_ = h.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: true, BlockFragment: h.encode(fields...)})
}

func (h *host) encode(fields ...string) []byte {
	h.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = h.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return []byte(h.block.String())
}

// answer sends a whole answer.
func (h *host) answer(id uint32, body string) {
	h.head(id, false, "200", "x-conn", fmt.Sprint(h.n))
	for ; len(body) > 16384; body = body[16384:] {
		_ = h.WriteData(id, false, []byte(body[:16384]))
	}
	_ = h.WriteData(id, true, []byte(body))
}

// serve answers all requests that come.
func (h *host) serve() {
	for {
		id, path := h.request()
		if id == 0 {
			return
		}
		h.answer(id, path)
	}
}
