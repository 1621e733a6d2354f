package mongo

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Types of elements that are read or written.
const (
	typeDouble, typeString, typeBool, typeInt32 = 0x01, 0x02, 0x08, 0x10
)

// fixed holds the sizes of values of fixed size, in bytes. The types are: double,
// undefined, ObjectId, boolean, date, null, int32, timestamp, int64, decimal128, MinKey and
// MaxKey.
var fixed = [256]int8{0x01: 8, 0x06: 0, 0x07: 12, 0x08: 1, 0x09: 8, 0x0a: 0, 0x10: 4, 0x11: 8, 0x12: 8, 0x13: 16, 0x7f: 0, 0xff: 0}

// sized reports whether values of a type begin with their length. more is the number of
// bytes that the length does not count.
func sized(kind byte) (more int, is bool) {
	switch kind {
	case 0x02, 0x0d, 0x0e: // strings
		return 4, true
	case 0x05: // binary: length, subtype, bytes
		return 5, true
	case 0x03, 0x04, 0x0f: // the length of documents and arrays counts itself
		return 0, true
	}
	return 0, false
}

// readHello reads the elements of a document (bsonspec.org, 1.1).
func readHello(doc []byte) (hello, error) {
	var h hello
	if len(doc) < 5 {
		return h, errStrange
	}
	size := binary.LittleEndian.Uint32(doc) // including itself and the zero at the end
	if size < 5 || int64(size) > int64(len(doc)) {
		return h, errStrange
	}
	doc = doc[4:size]
	for len(doc) > 0 && doc[0] != 0 {
		kind := doc[0]
		end := bytes.IndexByte(doc[1:], 0)
		if end < 0 {
			return h, errStrange
		}
		name := string(doc[1 : 1+end])
		doc = doc[2+end:]
		size, ok := valueSize(kind, doc)
		if !ok || size > len(doc) {
			return h, errStrange
		}
		h.element(name, kind, doc[:size])
		doc = doc[size:]
	}
	if len(doc) == 0 {
		return h, errStrange // no end
	}
	return h, nil
}

// valueSize returns the size of the value at the beginning of doc, in bytes.
func valueSize(kind byte, doc []byte) (int, bool) {
	if more, is := sized(kind); is {
		if len(doc) < 4 {
			return 0, false
		}
		n := int64(int32(binary.LittleEndian.Uint32(doc)))
		return int(min(n, 1<<30)) + more, n >= 0 && (more > 0 || n >= 5)
	}
	size := int(fixed[kind])
	return size, size > 0 || kind == 0x06 || kind == 0x0a || kind == 0x7f || kind == 0xff
}

func (h *hello) element(name string, kind byte, value []byte) {
	switch {
	case name == "ok" && kind == typeDouble:
		h.ok = math.Float64frombits(binary.LittleEndian.Uint64(value)) == 1
	case name == "ok" && kind == typeInt32:
		h.ok = binary.LittleEndian.Uint32(value) == 1
	case name == "isWritablePrimary" && kind == typeBool:
		h.primary = value[0] == 1
	case name == "secondary" && kind == typeBool:
		h.secondary = value[0] == 1
	case name == "errmsg" && kind == typeString && len(value) > 5:
		h.problem = string(value[4 : len(value)-1])
	}
}
