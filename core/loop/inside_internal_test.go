package loop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// These tests check undocumented behaviour of crypto/tls that the loop depends on. They
// are the first to check after an upgrade of Go.

// drip is a net.Conn with the bytes it was given. Without bytes it returns a temporary
// error, as wire does.
type drip struct {
	net.Conn // nil: nothing else is called
	in, out  []byte
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.in) == 0 {
		return 0, errPassing
	}
	n := copy(p, d.in)
	d.in = d.in[n:]
	return n, nil
}

func (d *drip) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

func (d *drip) SetWriteDeadline(time.Time) error { return nil }

// handshaken returns two ends after a complete handshake, without bytes in transit.
func handshaken(t *testing.T, version uint16) (from, to *tls.Conn, sender, receiver *drip) {
	t.Helper()
	config := &tls.Config{
		Certificates: []tls.Certificate{Certificate("P-256")}, MinVersion: version, MaxVersion: version,
		DynamicRecordSizingDisabled: true, SessionTicketsDisabled: true, InsecureSkipVerify: true,
	}
	a, b := net.Pipe()
	here, there := &swapped{a}, &swapped{b}
	from, to = tls.Client(here, config), tls.Server(there, config)
	done := make(chan error, 1)
	go func() { done <- to.Handshake() }()
	if err := from.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	sender, receiver = new(drip), new(drip)
	here.Conn, there.Conn = sender, receiver
	return from, to, sender, receiver
}

// swapped is a net.Conn whose inner connection can be replaced.
type swapped struct{ net.Conn }

func versions() map[string]uint16 {
	return map[string]uint16{
		"TLS 1.0": tls.VersionTLS10, "TLS 1.1": tls.VersionTLS11, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13,
	}
}

func TestCryptoTLSKeepsItsStateOverPassingErrors(t *testing.T) {
	all := make([]byte, 100_000)
	for i := range all {
		all[i] = byte(i * 7)
	}
	for name, version := range versions() {
		for _, piece := range []int{1, 3, 7, 1000, 4096, 16384, 16406, 65536} {
			for _, lending := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/lending=%t", name, piece, lending), func(t *testing.T) {
					sent := all[:min(len(all), 30_000*piece)]
					from, to, sender, receiver := handshaken(t, version)
					for part := sent; len(part) > 0; { // records of every size
						n := min(len(part), 1+len(part)/3)
						if _, err := from.Write(part[:n]); err != nil {
							t.Fatal(err)
						}
						part = part[n:]
					}
					if err := from.CloseWrite(); err != nil {
						t.Fatal(err)
					}
					got, err := feed(to, receiver, sender.out, piece, lending)
					if err != io.EOF {
						t.Errorf("the end is %v, want io.EOF", err)
					}
					if !bytes.Equal(got, sent) {
						t.Errorf("%d bytes arrived, or others than the %d sent", len(got), len(sent))
					}
				})
			}
		}
	}
}

// feed passes ciphertext to a connection in pieces and reads until it is dry after
// each. With lending, the record buffer is taken away whenever the connection is dry.
func feed(to *tls.Conn, receiver *drip, wire []byte, piece int, lending bool) ([]byte, error) {
	var got, rest []byte
	p, lent := make([]byte, 5000), make([]byte, 0, recvMost)
	for len(wire) > 0 {
		n := min(piece, len(wire))
		receiver.in, wire = wire[:n], wire[n:]
		if lending {
			*rawOf(to) = *bytes.NewBuffer(append(lent, rest...))
		}
		for {
			n, err := to.Read(p)
			got = append(got, p[:n]...)
			if errors.Is(err, errPassing) {
				break
			}
			if err != nil {
				return got, err
			}
		}
		if lending {
			if inputOf(to).Len() != 0 {
				return got, errors.New("plaintext is left in a dry connection")
			}
			rest = append(rest[:0], rawOf(to).Bytes()...)
			clear(lent[:cap(lent)][:len(rest)])
			*rawOf(to) = bytes.Buffer{}
		}
	}
	return got, nil
}

func TestInside(t *testing.T) {
	if !inside.found {
		t.Fatal("crypto/tls has other fields in this Go release: connections keep their buffers; see inside.go")
	}
	from, to, sender, receiver := handshaken(t, tls.VersionTLS13)
	if _, err := from.Write(make([]byte, 16384)); err != nil {
		t.Fatal(err)
	}
	receiver.in = sender.out
	one := make([]byte, 1)
	if _, err := to.Read(one); err != nil {
		t.Fatal(err)
	}
	if n := inputOf(to).Len(); n != 16383 {
		t.Errorf("%d bytes of plaintext are left, want 16383: input is another field", n)
	}
	if n := rawOf(to).Cap(); n < 16384 {
		t.Errorf("the record buffer has %d bytes: rawInput is another field", n)
	}
	if n := handOf(to).Cap(); n == 0 || n > 4096 {
		t.Errorf("the message buffer has %d bytes: hand is another field", n)
	}
}
