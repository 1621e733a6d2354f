package syslog

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Facility is the type of the sending program (RFC 5424 section 6.2.1).
type Facility uint8

// Facilities in use.
const (
	Daemon Facility = 3  // events of the appliance
	Auth   Facility = 10 // audit; most systems have a separate file for it
	Local0 Facility = 16 // access logs
)

// Severity is the severity of a message; 0 is the highest.
type Severity uint8

// Severities in use.
const (
	Error   Severity = 3
	Warning Severity = 4
	Notice  Severity = 5
	Info    Severity = 6
	Debug   Severity = 7
)

// Priority returns the PRI value of a facility and severity.
func Priority(f Facility, s Severity) int { return int(f)*8 + int(s) }

// Message types (MSGID).
const (
	IDAccess = "access" // a line of an access log
	IDAudit  = "audit"  // a call that wrote something or was refused
	IDEvent  = "event"  // a state change, e.g. a backend is down
	IDLog    = "log"    // a line of the log
)

// Maximum size of a message in bytes: the size that receivers should accept as a datagram
// (RFC 5426 section 3.2) and on a stream (RFC 5425 section 4.3.1).
const (
	MaxDatagram = 2048
	MaxStream   = 8192
)

// Message is one syslog message.
type Message struct {
	Facility Facility
	Severity Severity
	Time     time.Time
	ID       string
	Data     []Element
	Text     string
}

// Element is an element of structured data.
type Element struct {
	Name   string
	Params []Param
}

// Param is a parameter of an element.
type Param struct{ Name, Value string }

// enterprise is the suffix of private SD-IDs. It is the enterprise number for examples
// (RFC 5612), because Sluice has none of its own.
const enterprise = "@32473"

// Origin identifies the sender of messages.
type Origin struct{ host, app, process string }

// Here returns the origin of this process, with the app name sluice.
func Here() Origin {
	host, _ := os.Hostname() // an unknown host is sent as a dash
	return NewOrigin(host, "sluice", strconv.Itoa(os.Getpid()))
}

// NewOrigin returns the origin of a program on a host. Invalid characters are removed.
func NewOrigin(host, app, process string) Origin {
	return Origin{headerName(host, 255), headerName(app, 48), headerName(process, 128)}
}

// headerName returns a text as a header field: printable ASCII without blanks, or a dash
// if empty.
func headerName(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return "-"
	}
	return text[:min(len(text), most)]
}

// AppendHeader appends the header and a blank.
func (o Origin) AppendHeader(dst []byte, priority int, at time.Time, id string) []byte {
	dst = append(strconv.AppendInt(append(dst, '<'), int64(priority), 10), ">1 "...)
	dst = at.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	for _, field := range [...]string{o.host, o.app, o.process, id} {
		dst = append(append(dst, ' '), field...)
	}
	return append(dst, ' ')
}

// Append appends a message of at most most bytes. It truncates the text, and values of
// structured data if those alone are too long.
func (o Origin) Append(dst []byte, m *Message, most int) []byte {
	end := len(dst) + most
	dst = o.AppendHeader(dst, Priority(m.Facility, m.Severity), m.Time, headerName(m.ID, 32))
	before := len(dst)
	for i := range m.Data {
		dst = m.Data[i].append(dst, end)
	}
	if len(dst) == before {
		dst = append(dst, '-')
	}
	if m.Text == "" || len(dst) == end {
		return dst
	}
	return appendClean(append(dst, ' '), m.Text, end, false)
}

// append appends an element with as many of its parameters as fit before end, or nothing.
func (e *Element) append(dst []byte, end int) []byte {
	start := len(dst)
	dst = append(append(append(dst, '['), dataName(e.Name)...), enterprise...)
	if len(dst)+1 > end {
		return dst[:start]
	}
	for _, p := range e.Params {
		before := len(dst)
		dst = append(append(append(dst, ' '), dataName(p.Name)...), `="`...)
		if len(dst)+len(`"]`)+len(cutMark) > end {
			dst = dst[:before]
			break
		}
		dst = append(appendClean(dst, p.Value, end-len(`"]`), true), '"')
	}
	return append(dst, ']')
}

// dataName returns a text as a name of structured data (SD-NAME).
func dataName(text string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`=]"@`, r) {
			return -1
		}
		return r
	}, text)
	return headerName(text, 32-len(enterprise))
}

const (
	cutMark   = "…"
	hexDigits = "0123456789abcdef"
)

// appendClean appends a text in valid UTF-8 without control characters, up to end. In a
// value, quotes, backslashes and brackets are escaped (RFC 5424 section 6.3.3).
func appendClean(dst []byte, text string, end int, value bool) []byte {
	kept := len(dst) // length after which the cut mark still fits
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r == 0x7f:
			if dst = append(dst, '\\'); value {
				dst = append(dst, '\\')
			}
			dst = append(dst, 'x', hexDigits[text[i]>>4], hexDigits[text[i]&15])
		case 0x80 <= r && r < 0xa0, r == 0x2028, r == 0x2029: // C1 controls and Unicode line separators
			dst = append(dst, "\uFFFD"...)
		case value && (r == '"' || r == '\\' || r == ']'):
			dst = append(dst, '\\', byte(r))
		default:
			dst = append(dst, text[i:i+size]...)
		}
		i += size
		if len(dst) > end {
			if kept+len(cutMark) > end {
				return dst[:kept]
			}
			return append(dst[:kept], cutMark...)
		}
		if len(dst)+len(cutMark) <= end {
			kept = len(dst)
		}
	}
	return dst
}
