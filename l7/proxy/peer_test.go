package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluicelb/sluice/l7/l7test"
)

// peer is a client of HTTP/2 by prior knowledge that speaks frames.
type peer struct {
	*xhttp2.Framer
	t     *testing.T
	conn  net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
	dec   *hpack.Decoder
}

// newPeer connects and sends the preface and settings. Without settings its
// windows are wide open.
func newPeer(t *testing.T, addr string, settings ...xhttp2.Setting) *peer {
	t.Helper()
	return newPeerOn(t, l7test.Dial(t, addr).TCPConn, settings...)
}

// newPeerOn is newPeer on a connection there is.
func newPeerOn(t *testing.T, c net.Conn, settings ...xhttp2.Setting) *peer {
	t.Helper()
	p := &peer{t: t, conn: c, Framer: xhttp2.NewFramer(c, c), dec: hpack.NewDecoder(4096, nil)}
	p.enc = hpack.NewEncoder(&p.block)
	_, _ = io.WriteString(c, xhttp2.ClientPreface)
	if len(settings) == 0 {
		settings = []xhttp2.Setting{{ID: xhttp2.SettingInitialWindowSize, Val: 1 << 24}}
	}
	_ = p.WriteSettings(settings...)
	_ = p.WriteWindowUpdate(0, 1<<24)
	return p
}

// head encodes a head: pairs of name and value.
func (p *peer) head(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.block.Bytes()
}

// ask opens a stream with a request.
func (p *peer) ask(id uint32, end bool, method, path string, more ...string) {
	fields := append([]string{":method", method, ":scheme", "http", ":authority", "a.test", ":path", path}, more...)
	const most = 16 << 10 // of a frame
	block := p.head(fields...)
	first := block[:min(most, len(block))]
	block = block[len(first):]
	_ = p.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: len(block) == 0, BlockFragment: first})
	for len(block) > 0 {
		part := block[:min(most, len(block))]
		block = block[len(part):]
		_ = p.WriteContinuation(id, len(block) == 0, part)
	}
}

// next gives the next frame as text: "1 HEADERS 200 end", "1 DATA ok end",
// "1 RST_STREAM NO_ERROR", "GOAWAY NO_ERROR", "end" when the connection is
// over. Settings, window updates and pings are left out.
func (p *peer) next() string {
	for {
		f, err := p.ReadFrame()
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
			fields, _ := p.dec.DecodeFull(f.HeaderBlockFragment())
			if fields[0].Name != ":status" {
				return fmt.Sprintf("%d TRAILERS %s=%s%s", id, fields[0].Name, fields[0].Value, end)
			}
			return fmt.Sprintf("%d HEADERS %s%s", id, fields[0].Value, end)
		case *xhttp2.DataFrame:
			return fmt.Sprintf("%d DATA %s%s", id, f.Data(), end)
		case *xhttp2.RSTStreamFrame:
			return fmt.Sprintf("%d RST_STREAM %v", id, f.ErrCode)
		case *xhttp2.GoAwayFrame:
			return fmt.Sprintf("GOAWAY %v", f.ErrCode)
		}
	}
}

// want checks the frames that come next; of DATA those that follow each other
// on one stream count as one.
func (p *peer) want(frames ...string) {
	p.t.Helper()
	for _, want := range frames {
		got := p.next()
		for strings.Contains(got, " DATA ") && got != want && strings.HasPrefix(want, got) {
			more := p.next()
			got += more[strings.Index(more, " DATA ")+len(" DATA "):]
		}
		if got != want {
			p.t.Fatalf("got %.200q, want %.200q", got, want)
		}
	}
}

// ended waits for the end of the connection and gives the frames before it.
func (p *peer) ended() (frames []string) {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(8 * time.Second))
	for {
		f := p.next()
		if f == "end" {
			return frames
		}
		frames = append(frames, f)
	}
}

func itoa(n uint32) string { return strconv.Itoa(int(n)) }
