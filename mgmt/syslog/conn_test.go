package syslog

import (
	"bufio"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTargetsAreChecked(t *testing.T) {
	for text, want := range map[string]bool{
		"udp://127.0.0.1:514": true, "tcp://log.example.org:601": true, "udp://[::1]:514": true, "unix:///dev/log": true,
		"": false, "127.0.0.1:514": false, "udp://127.0.0.1": false, "udp://127.0.0.1:0": false, "udp://:514": false, "udp://h:70000": false,
		"tcp://h:1/x": false, "tcp://u@h:1": false, "tcp://h:1?x": false, "unix://dev/log": false, "unix:dev": false, "file:///x": false, "http://h:1": false,
	} {
		got, err := ParseTarget(text)
		if (err == nil) != want || (CheckTarget(text) == nil) != want {
			t.Errorf("%q: accepted %v", text, err == nil)
		}
		if want && got.String() != text {
			t.Errorf("%q is shown as %s", text, got)
		}
	}
}

// one sends a message over a connection.
func one(c *Conn, text string) error {
	err := c.Begin()
	if err == nil {
		err = c.Add([]byte("head "), []byte(text))
	}
	if err == nil {
		err = c.End()
	}
	return err
}

func to(protocol Protocol, address string) Target {
	return Target{Protocol: protocol, Address: address}
}

// A user who may change one farm chooses its target, so no metadata service is one.
func TestNoMessageIsSentToAMetadataService(t *testing.T) {
	for _, target := range []Target{to(UDP, "169.254.169.254:514"), to(TCP, "[fd00:ec2::254]:80"), to(TLS, "[64:ff9b::a9fe:a9fe]:443")} {
		c := NewConn(target, time.Now)
		if err := one(c, "x"); err == nil || !strings.Contains(err.Error(), "no server is there") && !strings.Contains(err.Error(), "it is not asked") {
			t.Errorf("%s: %v", target, err)
		}
		c.Close()
	}
}

func TestPausesGrowToTheirBound(t *testing.T) {
	now := time.Unix(1000, 0)
	c := NewConn(to(TCP, "127.0.0.1:1"), func() time.Time { return now })
	pause := time.Duration(0)
	for range 12 {
		if err := one(c, "x"); err == nil || !strings.HasPrefix(err.Error(), "connect to syslog: ") {
			t.Fatalf("no server: %v", err)
		}
		pause = min(max(2*pause, firstPause), longestPause)
		if wait := c.Next().Sub(now); wait < pause/2 || wait >= pause*3/2 {
			t.Errorf("to wait are %v, want about %v", wait, pause)
		}
		if err := one(c, "x"); err != ErrPaused {
			t.Fatalf("tried again at once: %v", err)
		}
		now = c.Next()
	}
	if pause != longestPause {
		t.Errorf("the last pause is %v, want %v", pause, longestPause)
	}
}

func TestAServerThatTakesMessagesIsTrustedAgain(t *testing.T) {
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := NewConn(to(UDP, listener.LocalAddr().String()), nil)
	defer c.Close()
	c.pause, c.next = longestPause, time.Now().Add(time.Hour)
	if err := one(c, "x"); err != ErrPaused || c.conn != nil {
		t.Errorf("tried while it is left alone: %v", err)
	}
	c.next = time.Time{}
	if err := one(c, "x"); err != nil || c.pause != 0 {
		t.Errorf("got %v, pause %v, want 0", err, c.pause)
	}
	_ = c.conn.Close()
	if err := one(c, "x"); err == nil || !strings.HasPrefix(err.Error(), "send to syslog: ") || c.conn != nil || c.pause != firstPause {
		t.Errorf("a connection that ended: %v, pause %v", err, c.pause)
	}
}

// A name is resolved again after renewTime; an address is not.
func TestDatagramsFollowANameThatMoves(t *testing.T) {
	now := time.Now()
	for address, again := range map[string]bool{"localhost:9": true, "127.0.0.1:9": false} {
		c := NewConn(to(UDP, address), func() time.Time { return now })
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		first := c.conn
		now = now.Add(renewTime - 1)
		if err := c.Begin(); err != nil || c.conn != first {
			t.Errorf("%s: an immediate connection: %v", address, err)
		}
		now = now.Add(1)
		if err := c.Begin(); err != nil || (c.conn != first) != again {
			t.Errorf("%s: another connection %v, %v", address, c.conn != first, err)
		}
		c.Close()
	}
}

func TestADatagramNeverFailsForItsLength(t *testing.T) {
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := NewConn(to(UDP, listener.LocalAddr().String()), nil)
	defer c.Close()
	if err := one(c, strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	_ = listener.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, _, err := listener.ReadFrom(make([]byte, 100_000)); n != maxPacket || err != nil {
		t.Errorf("got %d bytes, %v, want %d", n, err, maxPacket)
	}
}

func TestStreamsUseOctetCounting(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "log")
		}
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		c := NewConn(to(Protocol(network), ln.Addr().String()), nil)
		defer c.Close()
		if err := one(c, "one"); err != nil {
			t.Fatal(err)
		}
		if err := one(c, "two"); err != nil {
			t.Fatal(err)
		}
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		want := "8 head one8 head two"
		got := make([]byte, len(want))
		_ = s.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := bufio.NewReader(s).Read(got); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", network, got, err)
		}
		_ = s.Close()
	}
	path := filepath.Join(t.TempDir(), "log")
	listener, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := NewConn(to(Unix, path), nil)
	defer c.Close()
	if err := one(c, "one"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 100)
	_ = listener.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, _, err := listener.ReadFrom(got); string(got[:n]) != "head one" || err != nil {
		t.Errorf("%q, %v", got[:n], err)
	}
}

// Writes to a closed stream would be lost.
func TestAStreamThatEndedIsNotWrittenTo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := NewConn(to(TCP, ln.Addr().String()), nil)
	defer c.Close()
	for i := range 2 {
		if err := one(c, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		if n, err := s.Read(got); string(got[:n]) != "6 head "+strconv.Itoa(i) {
			t.Errorf("connection %d: %q, %v", i, got[:n], err)
		}
		_ = s.Close()
	}
}

// Servers send nothing; one that sends without end is disconnected.
func TestAServerThatTalksIsLeft(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c := NewConn(to(TCP, ln.Addr().String()), nil)
	defer c.Close()
	if err := one(c, "x"); err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = s.Write(make([]byte, mostSaid-1))
	if c.stream.over() {
		t.Error("tickets of TLS end it")
	}
	_, _ = s.Write(make([]byte, 1))
	enginetest.Eventually(t, "it is left", c.stream.over)
}

func TestTargetDeterminesItsTransport(t *testing.T) {
	if c, err := to(TLS, "log.example.org:6514").config(); err != nil || c.ServerName != "log.example.org" || c.MinVersion != 0x0303 || c.InsecureSkipVerify {
		t.Errorf("%+v, %v", c, err)
	}
	missing := to(TLS, "log.example.org:6514")
	missing.Roots = func() (*x509.CertPool, error) { return nil, errors.New("no such list") }
	if _, err := missing.config(); err == nil {
		t.Error("without its authorities it is verified with others")
	}
	if a, b := to(UDP, "h:1").most(), to(TCP, "h:1").most(); a != 2048 || b != 8192 {
		t.Errorf("%d and %d bytes", a, b)
	}
}
