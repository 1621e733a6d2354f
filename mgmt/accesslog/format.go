package accesslog

import (
	"crypto/tls"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

// line is a record with the names for its numbers. The names come from a configuration and
// are escaped like all other texts.
type line struct {
	*accesslog.Record
	farm, service, backend, rejection []byte
}

// formatter makes lines for the log of one farm. It belongs to one goroutine.
type formatter struct {
	clock    *clock
	redact   *redaction
	combined bool
	steps    []step
	headers  bool // selected request headers are shown
}

// step appends one field after its name. If the field has no value, neither is appended.
type step struct {
	name []byte
	add  func(f *formatter, dst []byte, l *line) []byte
	text bool // in a combined line: quoted
}

// newFormatter returns a formatter for an access log. The values of the headers in secret
// are always masked.
func newFormatter(l *farm.AccessLog, c *clock, secret ...string) *formatter {
	f := &formatter{clock: c, combined: l.Format == farm.LogCombined, headers: len(l.Headers) > 0}
	names := l.Redact
	if len(names) == 0 {
		names = farm.DefaultRedact()
	}
	f.redact = newRedaction(append(slices.Clip(names), secret...))
	for _, field := range l.ShownFields() {
		add := fields[field]
		if f.combined {
			f.steps = append(f.steps, step{[]byte(" " + string(field) + "="), add.value, add.text})
			continue
		}
		name := `"` + string(field) + `":`
		if len(f.steps) > 0 {
			name = "," + name
		}
		f.steps = append(f.steps, step{[]byte(name), add.value, add.text})
	}
	return f
}

// append appends the line of a record, with its end.
func (f *formatter) append(dst []byte, l *line) []byte {
	if f.combined {
		return f.appendCombined(dst, l)
	}
	return append(f.appendObject(dst, l), '\n')
}

// appendObject appends the record as a JSON object.
func (f *formatter) appendObject(dst []byte, l *line) []byte {
	dst = append(dst, '{')
	begin := len(dst)
	for i := range f.steps {
		s := &f.steps[i]
		before := len(dst)
		if name := s.name; before == begin && name[0] == ',' {
			dst = append(dst, name[1:]...)
		} else {
			dst = append(dst, name...)
		}
		if s.text {
			dst = append(dst, '"')
		}
		value := len(dst)
		if dst = s.add(f, dst, l); len(dst) == value {
			dst = dst[:before]
			continue
		}
		if s.text {
			dst = append(dst, '"')
		}
	}
	if f.headers && l.HasHeaders() {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		dst = f.appendHeaders(append(dst, `"headers":{`...), l)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func (f *formatter) appendHeaders(dst []byte, l *line) []byte {
	first := true
	l.Headers(func(name, value []byte) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendJSON(append(dst, '"'), name)
		dst = append(dst, `":"`...)
		if f.redact.has(name) {
			value = []byte(mask)
		}
		dst = append(appendJSON(dst, value), '"')
	})
	return dst
}

// text appends a text in the log's format.
func (f *formatter) text(dst, b []byte) []byte {
	if f.combined {
		return appendQuoted(dst, b)
	}
	return appendJSON(dst, b)
}

// field is the way in which a field is shown.
type field struct {
	text  bool
	value func(f *formatter, dst []byte, l *line) []byte
}

func text(of func(l *line) []byte) field {
	return field{true, func(f *formatter, dst []byte, l *line) []byte { return f.text(dst, of(l)) }}
}

func number(of func(l *line) uint64) field {
	return field{false, func(_ *formatter, dst []byte, l *line) []byte { return strconv.AppendUint(dst, of(l), 10) }}
}

// duration shows microseconds. If the duration was not measured, the field is empty.
func duration(of func(l *line) int64) field {
	return field{false, func(_ *formatter, dst []byte, l *line) []byte {
		if ns := of(l); ns > 0 {
			return strconv.AppendInt(dst, (ns+500)/1000, 10)
		}
		return dst
	}}
}

// fields holds the fields by name.
var fields = map[farm.LogField]field{
	farm.LogTime:    {true, func(f *formatter, dst []byte, l *line) []byte { return f.clock.appendRFC3339(dst, l.Time) }},
	farm.LogFarm:    text(func(l *line) []byte { return l.farm }),
	farm.LogService: text(func(l *line) []byte { return l.service }),
	farm.LogBackend: text(func(l *line) []byte { return l.backend }),
	farm.LogClient:  {true, func(_ *formatter, dst []byte, l *line) []byte { return appendAddr(dst, l.Client) }},
	farm.LogClientPort: {false, func(_ *formatter, dst []byte, l *line) []byte {
		if !l.Client.IsValid() {
			return dst
		}
		return strconv.AppendUint(dst, uint64(l.Client.Port()), 10)
	}},
	farm.LogMethod: text(func(l *line) []byte { return l.request(l.Method) }),
	farm.LogHost:   text(func(l *line) []byte { return l.request(l.Host) }),
	farm.LogName:   text((*line).name),
	farm.LogType:   text((*line).kind),
	farm.LogRcode:  text((*line).rcode),
	farm.LogPath:   {true, func(f *formatter, dst []byte, l *line) []byte { return f.text(dst, f.redact.target(l.Path)) }},
	farm.LogProtocol: {true, func(_ *formatter, dst []byte, l *line) []byte {
		return append(dst, l.Proto.String()...)
	}},
	farm.LogStatus: {false, func(_ *formatter, dst []byte, l *line) []byte {
		if l.Proto.IsDNS() {
			return dst
		}
		return strconv.AppendUint(dst, uint64(l.Status), 10)
	}},
	farm.LogBytesIn:   number(func(l *line) uint64 { return l.BytesIn }),
	farm.LogBytesOut:  number(func(l *line) uint64 { return l.BytesOut }),
	farm.LogQueue:     duration(func(l *line) int64 { return l.Queue }),
	farm.LogConnect:   duration(func(l *line) int64 { return l.Connect }),
	farm.LogResponse:  duration(func(l *line) int64 { return l.Response }),
	farm.LogFirstByte: duration(func(l *line) int64 { return l.FirstByte }),
	farm.LogTotal:     duration(func(l *line) int64 { return max(l.Total, 1) }),
	farm.LogRequestID: text(func(l *line) []byte { return l.RequestID }),
	farm.LogFlags: {true, func(_ *formatter, dst []byte, l *line) []byte {
		first := true
		l.Flags.Each(func(name string) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, name...)
		})
		return dst
	}},
	farm.LogRejection: text(func(l *line) []byte { return l.rejection }),
	farm.LogReason:    text(func(l *line) []byte { return l.Reason }),
	farm.LogTries:     number(func(l *line) uint64 { return uint64(l.Tries) }),
	farm.LogLoop:      number(func(l *line) uint64 { return uint64(l.Loop) }),
	farm.LogDecision: {true, func(_ *formatter, dst []byte, l *line) []byte {
		return append(dst, l.Why.String()...)
	}},
	farm.LogTLSVersion: {true, func(_ *formatter, dst []byte, l *line) []byte {
		return append(dst, versionName(l.TLSVersion)...)
	}},
	farm.LogTLSCipher: {true, func(_ *formatter, dst []byte, l *line) []byte {
		return appendCipher(dst, l.Cipher)
	}},
	farm.LogAgent:   text(func(l *line) []byte { return l.Agent }),
	farm.LogReferer: {true, func(f *formatter, dst []byte, l *line) []byte { return f.text(dst, f.redact.url(l.Referer)) }},
}

// ciphers are the names of cipher suites. crypto/tls makes a list of all of them for each
// lookup.
var ciphers = func() map[uint16]string {
	names := map[uint16]string{}
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		names[s.ID] = s.Name
	}
	return names
}()

func appendCipher(dst []byte, id uint16) []byte {
	if name, ok := ciphers[id]; ok || id == 0 {
		return append(dst, name...)
	}
	return append(dst, '0', 'x', hexDigits[id>>12], hexDigits[id>>8&15], hexDigits[id>>4&15], hexDigits[id&15])
}

func versionName(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "TLSv1.0"
	case tls.VersionTLS11:
		return "TLSv1.1"
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return ""
}

func appendAddr(dst []byte, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return dst
	}
	return a.Addr().WithZone("").AppendTo(dst)
}

// clock formats times, and caches the text of the last second.
type clock struct {
	second int64
	day    []byte // of that second, by RFC 3339
	apache []byte
}

func newClock() *clock { return &clock{second: -1 << 62} }

// at sets the texts to the second of t, and returns the rest of t.
func (c *clock) at(t int64) (nanos int64) {
	second := t / 1e9
	if nanos = t % 1e9; nanos < 0 {
		second, nanos = second-1, nanos+1e9
	}
	if second != c.second {
		c.second = second
		day := time.Unix(second, 0).UTC()
		c.day = day.AppendFormat(c.day[:0], "2006-01-02T15:04:05")
		c.apache = day.AppendFormat(c.apache[:0], "02/Jan/2006:15:04:05 +0000")
	}
	return nanos
}

// appendRFC3339 appends t, in Unix nanoseconds, with microseconds, in UTC.
func (c *clock) appendRFC3339(dst []byte, t int64) []byte {
	micros := c.at(t) / 1000
	dst = append(append(dst, c.day...), '.')
	for unit := int64(100_000); unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+micros/unit%10))
	}
	return append(dst, 'Z')
}

// appendApache appends t in the format of access logs: in brackets, in UTC.
func (c *clock) appendApache(dst []byte, t int64) []byte {
	c.at(t)
	return append(append(append(dst, '['), c.apache...), ']')
}
