package syslog

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Facility says what kind of program speaks (RFC 5424 section 6.2.1).
type Facility uint8

// The facilities that are used.
const (
	Daemon Facility = 3  // what the appliance does
	Auth   Facility = 10 // who did what, in the file for such things on most systems
	Local0 Facility = 16 // access logs
)

// Severity says how bad it is, 0 is worst.
type Severity uint8

// The severities that are used.
const (
	Error   Severity = 3
	Warning Severity = 4
	Notice  Severity = 5
	Info    Severity = 6
	Debug   Severity = 7
)

// Priority is both in one number.
func Priority(f Facility, s Severity) int { return int(f)*8 + int(s) }

// The kinds of messages (MSGID).
const (
	IDAccess = "access" // a line of an access log
	IDAudit  = "audit"  // a call that wrote something or was refused
	IDEvent  = "event"  // something changed by itself: a backend is down
	IDLog    = "log"    // a line of the log
)

// The most bytes of a message: what every receiver should take as a datagram
// (RFC 5426 section 3.2), and as one of a stream (RFC 5425 section 4.3.1).
const (
	MaxDatagram = 2048
	MaxStream   = 8192
)

// Message is what is sent.
type Message struct {
	Facility Facility
	Severity Severity
	Time     time.Time
	ID       string
	Data     []Element
	Text     string
}

// Element is one of structured data. Its name belongs to DataID.
type Element struct {
	Name   string
	Params []Param
}

// Param is a value of an element.
type Param struct{ Name, Value string }

// enterprise is the number behind names of structured data that no RFC knows. The
// one for examples (RFC 5612): Sluice has none of its own yet.
const enterprise = "@32473"

// Origin says who speaks.
type Origin struct{ host, app, process string }

// Here is this process, as part of the program sluice.
func Here() Origin {
	host, _ := os.Hostname() // unknown is a dash
	return NewOrigin(host, "sluice", strconv.Itoa(os.Getpid()))
}

// NewOrigin is a program on a host; what cannot stand in a header is left out.
func NewOrigin(host, app, process string) Origin {
	return Origin{headerName(host, 255), headerName(app, 48), headerName(process, 128)}
}

// headerName is a text as a field of a header: printable ASCII without blanks,
// a dash for none.
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

// AppendHeader appends everything before structured data, and a blank.
func (o Origin) AppendHeader(dst []byte, priority int, at time.Time, id string) []byte {
	dst = append(strconv.AppendInt(append(dst, '<'), int64(priority), 10), ">1 "...)
	dst = at.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z")
	for _, field := range [...]string{o.host, o.app, o.process, id} {
		dst = append(append(dst, ' '), field...)
	}
	return append(dst, ' ')
}

// Append appends a message of at most so many bytes: the text is cut, and values of
// structured data when these alone are too long.
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

// append appends an element, or as many of its values as there is room for before
// end; nothing when there is none.
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

// dataName is a name of structured data (SD-NAME).
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

// appendClean appends a text without control characters and in UTF-8, up to end. As
// a value, quotes, backslashes and brackets are escaped (RFC 5424 section 6.3.3).
func appendClean(dst []byte, text string, end int, value bool) []byte {
	kept := len(dst) // as much has room for a mark behind it
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r == 0x7f:
			if dst = append(dst, '\\'); value {
				dst = append(dst, '\\')
			}
			dst = append(dst, 'x', hexDigits[text[i]>>4], hexDigits[text[i]&15])
		case 0x80 <= r && r < 0xa0, r == 0x2028, r == 0x2029: // C1, and other ends of a line
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
