package accesslog

import (
	"encoding/binary"

	"github.com/sluicelb/sluice/core/rdata"
)

// request returns a text of a request. In a record of a DNS query the same field has another
// meaning, so it is empty.
func (l *line) request(text []byte) []byte {
	if l.Proto.IsDNS() {
		return nil
	}
	return text
}

// name returns the name of the query, with a dot at its end.
func (l *line) name() []byte {
	if !l.Proto.IsDNS() {
		return nil
	}
	return []byte(rdata.NameText(l.Host))
}

// kind returns the type of the query.
func (l *line) kind() []byte {
	if !l.Proto.IsDNS() || len(l.Method) != 2 {
		return nil
	}
	return []byte(rdata.TypeText(binary.BigEndian.Uint16(l.Method)))
}

// rcode returns the response code of the query.
func (l *line) rcode() []byte {
	if !l.Proto.IsDNS() {
		return nil
	}
	return []byte(rdata.RcodeText(l.Status))
}
