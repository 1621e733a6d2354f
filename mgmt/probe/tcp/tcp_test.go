package tcp_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
)

func TestCheckConnectsToThePort(t *testing.T) {
	probetest.Check(t, "check_tcp", tcp.Check, probetest.Replies(t, ""), "-H", "HOST", "-p", "PORT").Healthy(t)
	closed := probetest.Closed(t)
	probetest.Check(t, "check_tcp", tcp.Check, closed, "-H", "HOST", "-p", "PORT").Down(t, "connection refused")
	probetest.Check(t, "check_tcp", tcp.Check, closed, "-r", "ok").Healthy(t)
	// The port of the command is used, not the port of the target.
	open := probetest.Replies(t, "")
	probetest.Check(t, "check_tcp", tcp.Check, closed, "-p", fmt.Sprint(open.Port)).Healthy(t)
}

func TestAnswersAreCompared(t *testing.T) {
	for _, c := range []struct {
		server []string
		args   string
		reason string // "" is healthy
	}{
		{[]string{"220 hello\r\n"}, "-e 220", ""},
		{[]string{"220 hello\r\n"}, "-e hello", ""},
		{[]string{"220 hello\r\n"}, "-e hullo", `answered "220 hello", wanted "hullo"`},
		{[]string{"220 hello\r\n"}, "-e 221 -e 220", ""},
		{[]string{"220 hello\r\n"}, "-A -e 220 -e hello", ""},
		{[]string{"220 hello\r\n"}, "-A -e 220 -e hullo -m 11", `wanted "220" and "hullo"`},
		{[]string{"220 hello\r\n"}, "-e 221 -M ok", ""},
		{[]string{"", "pong"}, "-s ping -e pong", ""},
		{[]string{"", "pang"}, "-s ping -e pong", `answered "pang"`},
		{[]string{"po"}, "-e pong -m 2", `answered "po"`},
	} {
		to := probetest.Replies(t, c.server[0], c.server[1:]...)
		got := probetest.Check(t, "check_tcp", tcp.Check, to, strings.Fields(c.args)...)
		if c.reason == "" {
			got.Healthy(t)
		} else {
			got.Down(t, c.reason)
		}
	}
}

// An empty text matches any answer, but a silent server gave none.
func TestAnEmptyExpectationWantsAnAnswer(t *testing.T) {
	closes := probetest.Server(t, func(net.Conn) {})
	probetest.Check(t, "check_tcp", tcp.Check, closes, "-e", "").Down(t, "the server closed without an answer")
	probetest.Check(t, "check_tcp", tcp.Check, probetest.Replies(t, "220 hello\r\n"), "-e", "").Healthy(t)
}

func TestPiecesOfAnAnswerAreOne(t *testing.T) {
	to := probetest.Server(t, func(c net.Conn) {
		for _, b := range []byte("220 ready\r\n") {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
		}
		b := make([]byte, 1)
		_, _ = c.Read(b)
	})
	probetest.Check(t, "check_tcp", tcp.Check, to, "-e", "220 ready").Healthy(t)
}

func TestEscapesAreDecoded(t *testing.T) {
	heard := make(chan string, 2)
	to := probetest.Server(t, func(c net.Conn) {
		b := make([]byte, 100)
		for range 2 {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			heard <- string(b[:n])
			_, _ = c.Write([]byte("ok"))
		}
	})
	probetest.Check(t, "check_tcp", tcp.Check, to, "-E", "-s", `a\r\n\tb\\n HOST`, "-e", "ok", "-q", `bye\n`).Healthy(t)
	if got := <-heard; got != "a\r\n\tb\\n 127.0.0.1" {
		t.Errorf("sent %q, want %q", got, "a\r\n\tb\\n 127.0.0.1")
	}
	if got := <-heard; got != "bye\n" {
		t.Errorf("parted with %q, want %q", got, "bye\n")
	}
}

func TestServersAreGreeted(t *testing.T) {
	for name, c := range map[string]struct{ good, bad string }{
		"check_imap": {"* OK ready\r\n", "* BYE too busy\r\n"}, "check_pop": {"+OK ready\r\n", "-ERR busy\r\n"},
		"check_ftp": {"220 ready\r\n", "421 busy\r\n"}, "check_nntp": {"201 read only\r\n", "400 busy\r\n"},
	} {
		make := tcp.Services()[name]
		probetest.Check(t, name, make, probetest.Replies(t, c.good), "-H", "HOST", "-p", "PORT", "-t", "5").Healthy(t)
		probetest.Check(t, name, make, probetest.Replies(t, c.bad), "-H", "HOST", "-p", "PORT", "-t", "5").Down(t, "answered \""+c.bad[:5])
	}
	probetest.Check(t, "check_clamd", tcp.Services()["check_clamd"], probetest.Replies(t, "", "PONG\n"), "-p", "PORT").Healthy(t)
}

func TestCheckUDPSendsDatagrams(t *testing.T) {
	echo := probetest.Datagrams(t, func(asked []byte) []byte { return append([]byte("re: "), asked...) })
	probetest.Check(t, "check_udp", tcp.UDP, echo, "-s", "ping", "-e", "re: ping").Healthy(t)
	probetest.Check(t, "check_udp", tcp.UDP, echo, "-s", "ping", "-e", "pong").Down(t, `answered "re: ping"`)
	silent := probetest.Datagrams(t, func([]byte) []byte { return nil })
	probetest.Check(t, "check_udp", tcp.UDP, silent, "-p", "PORT").Healthy(t)
	probetest.In(t, 400e6, "check_udp", tcp.UDP, silent, "-p", "PORT", "-e", "x").Down(t, "no answer, wanted")
	probetest.Check(t, "check_udp", tcp.UDP, probetest.Closed(t), "-p", "PORT").Down(t, "connection refused")
	probetest.Unbounded(t, "check_udp", tcp.UDP, echo, "-s", "ping", "-e", "re: ping").Healthy(t)
	// A lost request is sent again.
	asked := 0
	second := probetest.Datagrams(t, func(b []byte) []byte {
		if asked++; asked == 1 {
			return nil
		}
		return b
	})
	probetest.In(t, 2e9, "check_udp", tcp.UDP, second, "-s", "ping", "-e", "ping").Healthy(t)
}
