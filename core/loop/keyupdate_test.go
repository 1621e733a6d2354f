package loop_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// writer seals records of a TLS 1.3 client by hand (RFC 8446, section 5.2), to send
// messages that crypto/tls does not send.
type writer struct {
	secret []byte
	seq    uint64
}

// newWriter takes the client's first application secret from a key log.
func newWriter(t *testing.T, log string) *writer {
	t.Helper()
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(f[2])
			if err != nil {
				t.Fatal(err)
			}
			return &writer{secret: secret}
		}
	}
	t.Fatal("no secret in the key log")
	return nil
}

func (w *writer) derive(label string, size int) []byte {
	label = "tls13 " + label
	info := append([]byte{0, byte(size), byte(len(label))}, label...)
	key, err := hkdf.Expand(sha256.New, w.secret, string(append(info, 0)), size)
	if err != nil {
		panic(err)
	}
	return key
}

// seal returns a record of type typ with the content.
func (w *writer) seal(typ byte, content []byte) []byte {
	block, _ := aes.NewCipher(w.derive("key", 16))
	aead, _ := cipher.NewGCM(block)
	nonce := w.derive("iv", 12)
	for i := range 8 {
		nonce[4+i] ^= byte(w.seq >> (56 - 8*i))
	}
	w.seq++
	header := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(content)+1+16))
	return aead.Seal(header, nonce, append(bytes.Clone(content), typ), header)
}

// keyUpdate returns a KeyUpdate that requests one in return, and switches to new keys.
func (w *writer) keyUpdate() []byte {
	record := w.seal(22, []byte{24, 0, 0, 1, 1})
	w.secret, w.seq = w.derive("traffic upd", 32), 0
	return record
}

// byHand returns a connection and a writer that replaces the client.
func byHand(t *testing.T, addr string) (*tls.Conn, *writer) {
	t.Helper()
	var log bytes.Buffer
	c := tls.Client(dialNarrow(t, addr), clientConfig(func(c *tls.Config) { c.KeyLogWriter = &log }))
	if err := c.Handshake(); err != nil {
		t.Fatalf("client: %v", err)
	}
	if c.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("not shown: another cipher suite was chosen")
	}
	return c, newWriter(t, log.String())
}

// dialNarrow is dial for a client with a small receive buffer, set before the connect.
// A buffer reduced later would not honour the window already advertised. A kernel
// without buffer space drops packets, acknowledgements included, so the client could
// not send either.
func dialNarrow(t *testing.T, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		outer := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<10)
		})
		return errors.Join(outer, err)
	}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// reading returns a handler that reads everything and sends the error of the end to
// ended.
func reading(l *loop.Loop, total *int, ended chan<- error) *probe {
	return &probe{readable: func(c *loop.Conn) {
		for {
			n, err := c.Read(l.In)
			*total += n
			if err == loop.ErrDry {
				return
			}
			if err != nil {
				c.Abort()
				ended <- err
				return
			}
		}
	}}
}

func TestKeyUpdatesAreAcceptedAnywhere(t *testing.T) {
	l := start(t)
	total, ended := 0, make(chan error, 1)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return reading(l, &total, ended) })
	c, w := byHand(t, addr)
	var out []byte
	for range 50 {
		out = append(out, w.keyUpdate()...)
		out = append(out, w.seal(23, []byte("data"))...)
	}
	out = append(out, w.seal(21, []byte{1, 0})...) // close_notify
	for len(out) > 0 {
		n := min(37, len(out))
		if _, err := c.NetConn().Write(out[:n]); err != nil {
			t.Fatal(err)
		}
		out = out[n:]
	}
	if err := <-ended; err.Error() != "EOF" {
		t.Errorf("end %v", err)
	}
	on(l, func() {
		if total != 200 {
			t.Errorf("%d bytes, want 200", total)
		}
	})
}

func TestKeyUpdateFloodEndsTheConnection(t *testing.T) {
	l := start(t)
	total, ended := 0, make(chan error, 1)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return reading(l, &total, ended) })
	c, w := byHand(t, addr)
	go func() {
		for {
			if _, err := c.NetConn().Write(w.keyUpdate()); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-ended:
		t.Log(err)
	case <-time.After(5 * time.Second):
		t.Fatal("the flood continues")
	}
}

// A byte of data between the updates keeps crypto/tls from counting them. The client
// reads nothing, so the responses accumulate.
func TestUnreadKeyUpdateResponsesEndTheConnection(t *testing.T) {
	l := start(t)
	total, ended, most := 0, make(chan error, 1), 0
	addr := secure(t, l, serverConfig(nil, "P-256"), func(c *loop.Conn) *probe {
		c.SetSendBuffer(4096)
		p := reading(l, &total, ended)
		read := p.readable
		p.readable = func(c *loop.Conn) {
			read(c)
			if !c.Closed() {
				most = max(most, c.Pending())
			}
		}
		return p
	})
	c, w := byHand(t, addr)
	go func() {
		for {
			var out []byte
			for range 100 {
				out = append(out, w.keyUpdate()...)
				out = append(out, w.seal(23, []byte("x"))...)
			}
			if _, err := c.NetConn().Write(out); err != nil {
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if !strings.Contains(err.Error(), "takes none") {
			t.Errorf("end %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the flood continues")
	}
	on(l, func() {
		if most > 64<<10 {
			t.Errorf("%d bytes of answers waited", most)
		}
	})
}
