package hello_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/hello"
)

// clientHello returns the ClientHello of crypto/tls for a name.
func clientHello(t testing.TB, name string, edit func(c *tls.Config)) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	config := &tls.Config{ServerName: name, InsecureSkipVerify: true}
	if edit != nil {
		edit(config)
	}
	go func() {
		_ = tls.Client(b, config).Handshake()
		_ = b.Close()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(a, head); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(a, rest); err != nil {
		t.Fatal(err)
	}
	return append(head, rest...)
}

// split distributes the message of a record over records of n bytes each.
func split(record []byte, n int) (out []byte) {
	for body := record[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		out = append(out, 22, 3, 1, byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

func name(b []byte) (string, bool, error) {
	var space []byte
	n, done, err := hello.Name(b, &space)
	return string(n), done, err
}

func TestNameIsFound(t *testing.T) {
	for _, want := range []string{"www.example.com", "a", strings.Repeat("x", 200) + ".example"} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			record := clientHello(t, want, func(c *tls.Config) { c.MaxVersion = version })
			for _, b := range [][]byte{record, split(record, 100), split(record, 30), append(bytes.Clone(record), "more"...)} {
				got, done, err := name(b)
				if got != want || !done || err != nil {
					t.Errorf("%q: %q %v %v", want, got, done, err)
				}
			}
		}
	}
}

func TestPartialHelloNeedsMore(t *testing.T) {
	record := clientHello(t, "www.example.com", nil)
	for _, b := range [][]byte{record, split(record, 40)} {
		for n := range len(b) {
			got, done, err := name(b[:n])
			if err != nil || done && got != "www.example.com" {
				t.Fatalf("%d of %d bytes: %q %v %v", n, len(b), got, done, err)
			}
		}
	}
}

func TestClientMayAskForNoName(t *testing.T) {
	got, done, err := name(clientHello(t, "", nil))
	if got != "" || !done || err != nil {
		t.Errorf("%q %v %v", got, done, err)
	}
	// Old clients send no list of extensions.
	old := append([]byte{3, 1}, make([]byte, 32)...)
	old = append(old, 0, 0, 2, 0, 47, 1, 0)
	if got, done, err := name(record(old)); got != "" || !done || err != nil {
		t.Errorf("%q %v %v", got, done, err)
	}
}

// record returns the record of a ClientHello with this body.
func record(body []byte) []byte {
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append([]byte{22, 3, 1, byte(len(message) >> 8), byte(len(message))}, message...)
}

// with returns a ClientHello with these extensions.
func with(extensions ...[]byte) []byte {
	all := bytes.Join(extensions, nil)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0, byte(len(all)>>8), byte(len(all)))
	return record(append(body, all...))
}

func extension(kind uint16, data ...byte) []byte {
	return append([]byte{byte(kind >> 8), byte(kind), byte(len(data) >> 8), byte(len(data))}, data...)
}

// sni returns the extension with these entries: a byte for the type, then the name.
func sni(entries ...string) []byte {
	var list []byte
	for _, e := range entries {
		list = append(list, e[0], 0, byte(len(e)-1))
		list = append(list, e[1:]...)
	}
	return extension(0, append([]byte{byte(len(list) >> 8), byte(len(list))}, list...)...)
}

func TestUnknownExtensionsAreIgnored(t *testing.T) {
	grease, ech := extension(0x1a1a), extension(0xfe0d, 0, 1, 2, 3)
	if got, done, err := name(with(grease, ech, sni("\x00outer.example"), extension(0x2a2a, 0))); got != "outer.example" || !done || err != nil {
		t.Errorf("%q %v %v", got, done, err)
	}
	if got, _, err := name(with(sni("\x07other", "\x00host"))); got != "host" || err != nil {
		t.Errorf("got %q %v, want %q", got, err, "host")
	}
}

func TestFinalDotIsRemoved(t *testing.T) {
	for given, want := range map[string]string{"host.example.": "host.example", "a.": "a", "a..": "a."} {
		if got, done, err := name(with(sni("\x00" + given))); got != want || !done || err != nil {
			t.Errorf("%q: got %q, %v, %v, want %q", given, got, done, err, want)
		}
	}
}

// largest returns the longest valid ClientHello.
func largest(name string) []byte {
	asked := sni("\x00" + name)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(append(body, 32), make([]byte, 32)...)
	body = append(append(body, 0xff, 0xfe), make([]byte, 65534)...)
	body = append(append(body, 255), make([]byte, 255)...)
	body = append(append(body, 0xff, 0xff), extension(21, make([]byte, 65535-4-len(asked))...)...)
	body = append(body, asked...)
	message := append([]byte{1, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
	return split(append([]byte{22, 3, 1, 0, 0}, message...), 16<<10)
}

func TestLargestHelloNeedsFewReads(t *testing.T) {
	b := largest("big.example")
	if len(b) > hello.Window {
		t.Fatalf("%d bytes do not fit into the window of %d", len(b), hello.Window)
	}
	if got, done, err := name(b); got != "big.example" || !done || err != nil {
		t.Errorf("%q %v %v", got, done, err)
	}
	message := []byte{22, 3, 1, 0, 0}
	for rest := b; len(rest) > 0; rest = rest[5+binary.BigEndian.Uint16(rest[3:]):] {
		message = append(message, rest[5:5+binary.BigEndian.Uint16(rest[3:])]...)
	}
	most := split(message, (len(message)-5+63)/64)
	if got, done, err := name(most[:min(len(most), hello.Window)]); got != "big.example" || !done || err != nil {
		t.Errorf("in 64 records: %q %v %v", got, done, err)
	}
	steps := 0
	for at := 0; ; steps++ {
		_, done, err := name(b[:at])
		if done || err != nil {
			if err != nil || at != len(b) {
				t.Errorf("%v after %d of %d bytes", err, at, len(b))
			}
			break
		}
		needs := hello.Needs(b[:at])
		if needs <= at || needs > len(b) {
			t.Fatalf("after %d of %d bytes %d are needed", at, len(b), needs)
		}
		if _, done, _ := name(b[:needs-1]); done {
			t.Errorf("%d bytes are waited for, %d are enough", needs, needs-1)
		}
		at = needs
	}
	if steps > 2*9 {
		t.Errorf("%d steps for nine records", steps)
	}
}

func TestInvalidHellosAreRefused(t *testing.T) {
	good := with(sni("\x00a"))
	long := bytes.Clone(good)
	long[6], long[7], long[8] = byte((hello.Most+1)>>16), byte((hello.Most+1)>>8&0xff), byte((hello.Most+1)&0xff)
	for what, c := range map[string]struct {
		b    []byte
		want error
	}{
		"http":               {[]byte("GET / HTTP/1.1\r\n\r\n"), hello.ErrNoTLS},
		"ssh":                {[]byte("SSH-2.0-x\r\n"), hello.ErrNoTLS},
		"no version":         {[]byte{22, 0x16, 1, 0, 1}, hello.ErrNoTLS},
		"a high version":     {[]byte{22, 0x10, 0, 0, 1}, hello.ErrNoTLS},
		"one later":          {append(split(good, 20)[:25], 22, 0x10, 1, 0, 1, 1), hello.ErrMalformed},
		"a version below":    {append([]byte{22, 0x0f}, good[2:len(good)-1]...), nil},
		"no body":            {[]byte{22, 3, 1, 0, 4, 1, 0, 0, 0}, hello.ErrMalformed},
		"another message":    {[]byte{22, 3, 1, 0, 4, 2, 0, 0, 0}, hello.ErrMalformed},
		"empty record":       {[]byte{22, 3, 1, 0, 0}, hello.ErrMalformed},
		"record too long":    {[]byte{22, 3, 1, 0x40, 1}, hello.ErrMalformed},
		"message too long":   {long, hello.ErrLong},
		"alert in between":   {append(split(good, 20)[:25], 21, 3, 1, 0, 2, 1, 0), hello.ErrMalformed},
		"two names":          {with(sni("\x00a", "\x00b")), hello.ErrMalformed},
		"name twice":         {with(sni("\x00a"), sni("\x00b")), hello.ErrMalformed},
		"grease twice":       {with(extension(0x1a1a), sni("\x00a"), extension(0x1a1a)), hello.ErrMalformed},
		"only a dot":         {with(sni("\x00.")), hello.ErrMalformed},
		"two names, one dot": {with(sni("\x00a.", "\x00b")), hello.ErrMalformed},
		"empty name":         {with(sni("\x00")), hello.ErrMalformed},
		"empty list":         {with(extension(0, 0, 0)), hello.ErrMalformed},
		"bytes after a list": {with(extension(0, 0, 4, 0, 0, 1, 'a', 0)), hello.ErrMalformed},
	} {
		if _, done, err := name(c.b); !errors.Is(err, c.want) || done {
			t.Errorf("%s: %v %v", what, done, err)
		}
	}
	pieces := []byte{22, 3, 1, 0, 4, 1, 2, 0, 0x1d}
	for len(pieces) < hello.Window {
		pieces = append(pieces, 22, 3, 1, 0, 1, 0)
	}
	for n, want := range map[int]error{hello.Window - 1: nil, hello.Window: hello.ErrLong, len(pieces): hello.ErrLong} {
		if _, done, err := name(pieces[:n]); done || err != want {
			t.Errorf("%d bytes of a message in thousands of records: %v, %v", n, done, err)
		}
	}
}

// A list that ends before its length is malformed. It must differ from a hello without a
// name.
func TestTruncatedPartsAreRefused(t *testing.T) {
	all := append(extension(0x1a1a, 1, 2), sni("\x07other", "\x00host")...)
	body := with(all)[9:]
	for n := range len(body) {
		got, done, err := name(record(body[:n]))
		if n == 41 { // no extensions, like old clients
			if got != "" || !done || err != nil {
				t.Errorf("without extensions: %q, %v, %v", got, done, err)
			}
		} else if done || err != hello.ErrMalformed {
			t.Errorf("%d of %d bytes: %q, %v, %v", n, len(body), got, done, err)
		}
	}
	for n := range len(all) {
		got, done, err := name(with(all[:n]))
		if n == 0 || n == 6 { // all of the first
			if got != "" || !done || err != nil {
				t.Errorf("%d bytes of extensions: %q, %v, %v", n, got, done, err)
			}
		} else if done || err != hello.ErrMalformed {
			t.Errorf("%d of %d bytes of extensions: %q, %v, %v", n, len(all), got, done, err)
		}
	}
	list := all[12:]
	for n := 1; n < len(list); n++ {
		got, done, err := name(with(extension(0, append([]byte{0, byte(n)}, list[:n]...)...)))
		if n == 8 { // all of the first, which is no host
			if got != "" || !done || err != nil {
				t.Errorf("one name of another kind: %q, %v, %v", got, done, err)
			}
		} else if done || err != hello.ErrMalformed {
			t.Errorf("%d of %d bytes of names: %q, %v, %v", n, len(list), got, done, err)
		}
	}
	odd := bytes.Clone(body)
	odd[36] = 1 // of the two bytes of a cipher suite; the other is the length of the next list
	odd[38], odd[39] = 1, 0
	if got, done, err := name(record(odd)); done || err != hello.ErrMalformed {
		t.Errorf("half a cipher suite: %q, %v, %v", got, done, err)
	}
	if got, done, err := name(record(append(body, 0))); done || err != hello.ErrMalformed {
		t.Errorf("a byte after the extensions: %q, %v, %v", got, done, err)
	}
}

func TestReadingANameDoesNotAllocate(t *testing.T) {
	whole := clientHello(t, "www.example.com", nil)
	pieces := split(whole, 100)
	space := make([]byte, 0, hello.Window)
	if n := testing.AllocsPerRun(100, func() {
		_, _, _ = hello.Name(whole, &space)
		_, _, _ = hello.Name(pieces, &space)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// one is a connection on which nothing comes but b.
type one struct {
	net.Conn
	b io.Reader
}

func (o *one) Read(p []byte) (int, error)     { return o.b.Read(p) }
func (*one) Write(p []byte) (int, error)      { return len(p), nil }
func (*one) Close() error                     { return nil }
func (*one) SetDeadline(time.Time) error      { return nil }
func (*one) SetReadDeadline(time.Time) error  { return nil }
func (*one) SetWriteDeadline(time.Time) error { return nil }

// server returns the name that a server of crypto/tls finds in b. ok is false if it found
// no valid ClientHello.
func server(b []byte) (name string, ok bool) {
	config := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name, ok = h.ServerName, true
		return nil, errors.New("enough")
	}}
	_ = tls.Server(&one{b: bytes.NewReader(b)}, config).Handshake()
	return name, ok
}

// FuzzName expects the name that crypto/tls finds. crypto/tls rejects more hellos: it also
// parses the other extensions, and accepts no final dot.
func FuzzName(f *testing.F) {
	f.Add(clientHello(f, "www.example.com", nil))
	f.Add(clientHello(f, "", nil))
	f.Add(split(clientHello(f, "split.example", nil), 50))
	f.Add(clientHello(f, "old.example", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }))
	f.Add(with(extension(0x1a1a), sni("\x00grease.example")))
	f.Add(with(sni("\x07x", "\x00a")))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > hello.Window {
			return
		}
		got, done, err := name(b)
		want, ok := server(b)
		switch {
		case err != nil && done:
			t.Fatalf("an error and done: %v", err)
		case !ok:
		case err == hello.ErrLong:
		case !done || got != want:
			t.Fatalf("%q %v %v, crypto/tls reads %q", got, done, err, want)
		}
	})
}
