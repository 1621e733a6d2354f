package loop_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// ends runs do after the first read from a secure connection and returns everything
// that the client read.
func ends(t *testing.T, version uint16, do func(c *loop.Conn)) ([]byte, error) {
	t.Helper()
	l := start(t)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe {
		return &probe{readable: func(c *loop.Conn) {
			if _, err := c.Read(l.In); err == nil {
				do(c)
			}
		}}
	})
	c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	return io.ReadAll(strict{c})
}

// strict distinguishes the end of the socket from close_notify.
type strict struct{ *tls.Conn }

func (s strict) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err == io.EOF {
		// crypto/tls reads nothing after close_notify, so the end of the socket is
		// still unread.
		if _, err := s.NetConn().Read(make([]byte, 1)); err != io.EOF {
			return n, err
		}
	}
	return n, err
}

func TestEndsOfASecureConnection(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		for _, test := range []struct {
			name string
			do   func(c *loop.Conn)
			got  string
			err  error
		}{
			{"Close", func(c *loop.Conn) { _ = c.Write([]byte("bye")); c.Close() }, "bye", nil},
			{"Close after WriteMore", func(c *loop.Conn) { _ = c.WriteMore([]byte("bye")); c.Close() }, "bye", nil},
			{"CloseWrite", func(c *loop.Conn) { _ = c.Write([]byte("bye")); c.CloseWrite() }, "bye", nil},
			{"CloseWrite and Close after WriteMore", func(c *loop.Conn) { _ = c.WriteMore([]byte("bye")); c.CloseWrite(); c.Close() }, "bye", nil},
			{"Linger", func(c *loop.Conn) { _ = c.WriteMore([]byte("bye")); c.Linger(int64(time.Second)) }, "bye", nil},
			{"Abort", func(c *loop.Conn) { c.Abort() }, "", syscall.ECONNRESET},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				got, err := ends(t, version, test.do)
				if string(got) != test.got || !errors.Is(err, test.err) {
					t.Errorf("the client read %q, %v; want %q, %v", got, err, test.got, test.err)
				}
			})
		}
	}
}

func TestCloseNotifyIsSentOnceAndBeforeTheEnd(t *testing.T) {
	for _, do := range []func(c *loop.Conn){
		func(c *loop.Conn) { c.Close() },
		func(c *loop.Conn) { c.CloseWrite(); c.CloseWrite(); c.Close() },
		func(c *loop.Conn) { c.CloseWrite(); c.Linger(int64(time.Second)) },
		func(c *loop.Conn) { c.Linger(int64(time.Second)) },
	} {
		l := start(t)
		addr := secure(t, l, serverConfig(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, "P-256"), func(*loop.Conn) *probe {
			return &probe{readable: func(c *loop.Conn) {
				if _, err := c.Read(l.In); err == nil {
					do(c)
				}
			}}
		})
		r := &tap{Conn: dial(t, addr)}
		c := tls.Client(r, clientConfig(nil))
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		r.heard.Reset()
		_, _ = io.Copy(io.Discard, r)
		if types := recordTypes(r.heard.Bytes()); !bytes.Equal(types, []byte{21}) {
			t.Errorf("records of types %v, want one alert", types)
		}
	}
}

// tap is a net.Conn that records the bytes read.
type tap struct {
	net.Conn
	heard bytes.Buffer
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.heard.Write(p[:n])
	return n, err
}

// recordTypes returns the types of the records in b.
func recordTypes(b []byte) (types []byte) {
	for len(b) >= 5 {
		types = append(types, b[0])
		b = b[min(len(b), 5+int(b[3])<<8+int(b[4])):]
	}
	return types
}

func TestEndOfThePeer(t *testing.T) {
	for _, test := range []struct {
		name      string
		end       func(c *tls.Conn)
		want      error
		truncated bool
	}{
		{"close_notify", func(c *tls.Conn) { _ = c.CloseWrite() }, io.EOF, false},
		{"close_notify and FIN", func(c *tls.Conn) { _ = c.Close() }, io.EOF, false},
		{"FIN alone", func(c *tls.Conn) { _ = c.NetConn().(*net.TCPConn).CloseWrite() }, io.EOF, true},
		{"FIN in a record", func(c *tls.Conn) {
			_, _ = c.NetConn().Write([]byte{23, 3, 3, 0, 100, 1, 2, 3})
			_ = c.NetConn().(*net.TCPConn).CloseWrite()
		}, io.ErrUnexpectedEOF, true},
		{"reset", func(c *tls.Conn) {
			_ = c.NetConn().(*net.TCPConn).SetLinger(0)
			_ = c.NetConn().Close()
		}, syscall.ECONNRESET, false},
		{"garbage", func(c *tls.Conn) { _, _ = c.NetConn().Write([]byte{23, 3, 3, 0, 20, 19: 1, 24: 9}) }, errBadRecord, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			type end struct {
				got       string
				err       error
				truncated bool
				again     error
			}
			ended := make(chan end, 1)
			l := start(t)
			var all []byte
			addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe {
				return &probe{readable: func(c *loop.Conn) {
					for {
						n, err := c.Read(l.In)
						all = append(all, l.In[:n]...)
						if err == loop.ErrDry {
							return
						}
						if err != nil {
							_, again := c.Read(l.In)
							ended <- end{string(all), err, c.Truncated(), again}
							c.Close()
							return
						}
					}
				}}
			})
			c := dialTLS(t, addr, clientConfig(nil))
			if _, err := c.Write([]byte("last words")); err != nil {
				t.Fatal(err)
			}
			if test.want == syscall.ECONNRESET { // a reset destroys unread bytes
				time.Sleep(50 * time.Millisecond)
			}
			test.end(c)
			e := <-ended
			if e.got != "last words" || e.truncated != test.truncated {
				t.Errorf("got %q, truncated %t", e.got, e.truncated)
			}
			if !errors.Is(e.err, test.want) && !(test.want == errBadRecord && e.err != nil && e.err != io.EOF) {
				t.Errorf("end %v, want %v", e.err, test.want)
			}
			if e.again != e.err {
				t.Errorf("the second Read returns %v, the first %v", e.again, e.err)
			}
		})
	}
}

var errBadRecord = errors.New("bad record")

func TestHalfClosedSecureConnectionStillAnswers(t *testing.T) {
	l := start(t)
	answer := bytes.Repeat([]byte("a"), 3<<20)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe {
		return &probe{readable: func(c *loop.Conn) {
			for {
				switch _, err := c.Read(l.In); err {
				case nil:
				case io.EOF:
					_ = c.Write(answer)
					c.CloseWrite()
					return
				default:
					return
				}
			}
		}}
	})
	c := dialTLS(t, addr, clientConfig(nil))
	_, _ = c.Write([]byte("question"))
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, answer) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(answer))
	}
}

func TestBufferedPlaintextKeepsTheConnectionReadable(t *testing.T) {
	const size = 40_000
	for name, version := range allVersions {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			done := make(chan int, 1)
			total, turns := 0, 0
			addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe {
				return &probe{readable: func(c *loop.Conn) {
					turns++
					n, err := c.Read(l.In[:700]) // one small read per turn
					if err == nil || err == loop.ErrDry {
						total += n
						if total < size && c.Readable() {
							c.Wait()
						}
					}
					if total == size && turns > 0 {
						if c.Readable() {
							if _, err := c.Read(l.In); err != loop.ErrDry || c.Readable() {
								t.Errorf("readable when all is read: %v", err)
							}
						}
						done <- turns
						turns = -1 << 30 // the end of the client is not checked
					}
				}}
			})
			c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				on(l, func() { t.Fatalf("%d of %d bytes were read, then silence", total, size) })
			}
		})
	}
}

func TestEarlyWritesAreSentAfterTheHandshake(t *testing.T) {
	for name, version := range allVersions {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			addr := serve(t, l, func(c *loop.Conn) {
				c.SetHandler(&probe{})
				c.Secure(loop.Security{Config: serverConfig(nil, "P-256")})
				_ = c.WriteMore([]byte("220 "))
				_ = c.Write([]byte("ready"))
			})
			c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
			got := make([]byte, len("220 ready"))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "220 ready" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
