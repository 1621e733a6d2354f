// Package mailtest provides a mail server for tests, in the test's own process.
package mailtest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
)

// Options configures a server.
type Options struct {
	// TLS is its TLS configuration; with Implicit, TLS starts at once.
	TLS      *tls.Config
	Implicit bool
	// Auth requires "user password" by PLAIN; "": no authentication.
	Auth string
	// Answer replaces the response to a command; "" means the normal response. It may block.
	Answer func(command string) string
}

// Mail is an accepted mail.
type Mail struct {
	From, To string
	Secure   bool
	User     string
	Raw      string
}

// Parsed returns the mail as its reader sees it.
func (m Mail) Parsed(t testing.TB) (header mail.Header, subject, text string) {
	t.Helper()
	msg, err := mail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		t.Fatalf("%q: %v", m.Raw, err)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	body := msg.Body
	if msg.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return msg.Header, subject, strings.ReplaceAll(string(b), "\r\n", "\n")
}

// Server accepts mails.
type Server struct {
	Host string
	Port int

	options Options
	mu      sync.Mutex
	mails   []Mail
	conns   int
}

// New starts a server that ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().(*net.TCPAddr)
	s := &Server{Host: "127.0.0.1", Port: at.Port, options: o}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			all.Go(func() { s.serve(c) })
		}
	})
	return s
}

// Mails returns the mails accepted so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Connections returns the number of connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// session is one connection.
type session struct {
	*Server
	conn   net.Conn
	r      *bufio.Reader
	mail   Mail
	secure bool
	user   string
}

func (s *Server) serve(c net.Conn) {
	x := &session{Server: s, conn: c}
	defer func() { _ = x.conn.Close() }()
	if s.options.Implicit {
		x.secured()
	}
	x.r = bufio.NewReader(x.conn)
	if !x.say(or(s.answer("CONNECT"), "220 mailtest ESMTP")) {
		return
	}
	for {
		line, err := x.r.ReadString('\n')
		if err != nil || !x.command(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

func (s *Server) answer(command string) string {
	if s.options.Answer == nil {
		return ""
	}
	return s.options.Answer(command)
}

func (x *session) secured() {
	x.conn, x.secure = tls.Server(x.conn, x.options.TLS), true
}

func (x *session) say(text string) bool {
	_, err := fmt.Fprintf(x.conn, "%s\r\n", text)
	return err == nil
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (x *session) command(line string) bool {
	if other := x.answer(line); other != "" {
		return x.say(other)
	}
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		text := "250-mailtest"
		if x.options.TLS != nil && !x.secure {
			text += "\r\n250-STARTTLS"
		}
		if x.options.Auth != "" {
			text += "\r\n250-AUTH PLAIN"
		}
		return x.say(text + "\r\n250 SIZE 1000000")
	case "STARTTLS":
		x.say("220 go on")
		x.secured()
		x.r = bufio.NewReader(x.conn)
	case "AUTH":
		_, data, _ := strings.Cut(rest, " ")
		raw, _ := base64.StdEncoding.DecodeString(data)
		x.user = strings.Join(strings.Split(strings.Trim(string(raw), "\x00"), "\x00"), " ")
		if x.user != x.options.Auth {
			return x.say("535 5.7.8 wrong user or password")
		}
		return x.say("235 welcome")
	case "MAIL":
		if x.options.Auth != "" && x.user == "" {
			return x.say("530 5.7.0 log in first")
		}
		x.mail = Mail{From: between(rest), Secure: x.secure, User: x.user}
		return x.say("250 ok")
	case "RCPT":
		x.mail.To = between(rest)
		return x.say("250 ok")
	case "DATA":
		return x.data()
	case "QUIT":
		x.say("221 bye")
		return false
	default:
		return x.say("250 ok")
	}
	return true
}

func between(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}

func (x *session) data() bool {
	x.say("354 go on")
	var raw strings.Builder
	for {
		line, err := x.r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		raw.WriteString(strings.TrimPrefix(line, "."))
	}
	if other := x.answer("."); other != "" {
		return x.say(other)
	}
	x.mail.Raw = raw.String()
	x.mu.Lock()
	x.mails = append(x.mails, x.mail)
	n := len(x.mails)
	x.mu.Unlock()
	return x.say(fmt.Sprintf("250 2.0.0 taken as %d", n))
}
