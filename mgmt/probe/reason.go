package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"
)

// Reason returns the meaning of a connection error in one plain line.
func Reason(err error) string {
	var no *net.DNSError
	switch {
	case errors.As(err, &no):
		return Line("the name " + no.Name + " was not resolved: " + no.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH):
		return "no route to the host, or it does not answer there"
	case errors.Is(err, syscall.ENETUNREACH):
		return "the network is unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server reset the connection"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), hasClosed(err.Error()):
		return closed(err)
	}
	return Line(err.Error())
}

// hasClosed recognises errors of net/http without an exported value: the server closed an
// HTTP/2 connection before its first frame, or an HTTP/1 connection before the request
// was written.
func hasClosed(text string) bool {
	return strings.HasSuffix(text, "http2: client conn could not be established") || strings.HasSuffix(text, "http: server closed idle connection")
}

// closed keeps the part of the error that a check wrote before the EOF.
func closed(err error) string {
	const plain = "the server closed the connection"
	text := err.Error()
	for _, end := range []string{io.ErrUnexpectedEOF.Error(), io.EOF.Error()} {
		if before, is := strings.CutSuffix(text, end); is {
			return Line(before + plain)
		}
	}
	return plain
}

// maxLine is the greatest length of a shown line, in bytes.
const maxLine = 300

// Line makes a foreign text one short, printable line.
func Line(s string) string {
	if len(s) > 4*maxLine {
		s = s[:4*maxLine]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "·")), " ")
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "") + "…"
	}
	return s
}
