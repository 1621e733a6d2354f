package accesslog

import "strconv"

// appendCombined appends the record in the format of Apache's combined log:
//
//	client - - [time] "METHOD path protocol" status bytes "referer" "agent"
//
// Selected fields and headers follow as name=value, texts in quotes.
func (f *formatter) appendCombined(dst []byte, l *line) []byte {
	before := len(dst)
	if dst = appendAddr(dst, l.Client); len(dst) == before {
		dst = append(dst, '-')
	}
	dst = f.clock.appendApache(append(dst, " - - "...), l.Time)
	dst = append(dst, ` "`...)
	if len(l.Method) > 0 {
		dst = append(appendQuoted(dst, l.Method), ' ')
		dst = append(appendQuoted(dst, f.redact.target(l.Path)), ' ')
		dst = append(dst, l.Proto.String()...)
	} else {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(append(dst, `" `...), uint64(l.Status), 10)
	dst = strconv.AppendUint(append(dst, ' '), l.BytesOut, 10)
	dst = appendDashed(append(dst, ` "`...), f.redact.url(l.Referer))
	dst = appendDashed(append(dst, `" "`...), l.Agent)
	dst = append(dst, '"')
	for i := range f.steps {
		dst = f.appendPair(dst, &f.steps[i], l)
	}
	if f.headers {
		l.Headers(func(name, value []byte) {
			if f.redact.has(name) {
				value = []byte(mask)
			}
			dst = append(appendQuoted(append(dst, ' '), name), `="`...)
			dst = append(appendQuoted(dst, value), '"')
		})
	}
	return append(dst, '\n')
}

// appendDashed appends a text, or a dash if it is empty.
func appendDashed(dst, b []byte) []byte {
	if len(b) == 0 {
		return append(dst, '-')
	}
	return appendQuoted(dst, b)
}

// appendPair appends a selected field. A field without value is omitted.
func (f *formatter) appendPair(dst []byte, s *step, l *line) []byte {
	before := len(dst)
	dst = append(dst, s.name...)
	if s.text {
		dst = append(dst, '"')
	}
	value := len(dst)
	if dst = s.add(f, dst, l); len(dst) == value {
		return dst[:before]
	}
	if s.text {
		dst = append(dst, '"')
	}
	return dst
}
