package accesslog

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/core/rdata"
)

// request is a text of a request; a record of a question has something else there.
func (l *line) request(text []byte) []byte {
	if l.Proto.IsDNS() {
		return nil
	}
	return text
}

// name is what was asked for, with a dot at its end.
func (l *line) name() []byte {
	if !l.Proto.IsDNS() {
		return nil
	}
	return []byte(rdata.NameText(l.Host))
}

// kind is the type that was asked for.
func (l *line) kind() []byte {
	if !l.Proto.IsDNS() || len(l.Method) != 2 {
		return nil
	}
	return []byte(rdata.TypeText(binary.BigEndian.Uint16(l.Method)))
}

// rcode says how a question ended.
func (l *line) rcode() []byte {
	if !l.Proto.IsDNS() {
		return nil
	}
	return []byte(rdata.RcodeText(l.Status))
}
