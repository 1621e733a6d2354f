package proxy

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
)

// compression is what a service compresses, and how.
type compression struct {
	offered []compress.Coding // the preferred one first
	level   compress.Level
	min     int64           // bytes of a body worth it
	types   map[string]bool // in lower case; "text/*" for all of a type
}

// newCompression compiles a service's compression; nil when it has none.
func newCompression(c *farm.Compression) (*compression, error) {
	if c == nil || len(c.Codings) == 0 {
		return nil, nil
	}
	out := &compression{min: int64(cmp.Or(c.Min, farm.DefaultCompressionMin)), types: map[string]bool{}}
	for _, name := range c.Codings {
		coding := compress.Named(string(name))
		if coding == compress.None {
			return nil, fmt.Errorf("there is no coding %q", name)
		}
		out.offered = append(out.offered, coding)
	}
	switch c.Level {
	case "", farm.CompressionDefault:
	case farm.CompressionFast:
		out.level = compress.Fast
	case farm.CompressionBest:
		out.level = compress.Best
	default:
		return nil, fmt.Errorf("there is no level %q", c.Level)
	}
	types := c.Types
	if len(types) == 0 {
		types = farm.DefaultCompressionTypes()
	}
	for _, t := range types {
		out.types[strings.ToLower(t)] = true
	}
	return out, nil
}

// accepted gives the coding for the answer to a request, None when its client
// takes no coding we have. It reads what the client said, whatever rules make of
// that for the backend: taking Accept-Encoding out keeps backends from
// compressing, not us.
func (c *compression) accepted(h *http1.Head) compress.Coding {
	var a compress.Accept
	for i := range h.Fields[:h.NumFields] {
		if f := &h.Fields[i]; f.Name.Len() == len("accept-encoding") && compress.Is(h.Name(i), "accept-encoding") {
			a.Add(f.Value.Of(h.Buf))
		}
	}
	return a.Choose(c.offered)
}

// wants reports whether bodies of the given Content-Type are compressed.
func (c *compression) wants(value []byte) bool {
	if i := bytes.IndexByte(value, ';'); i >= 0 {
		value = value[:i]
	}
	value = bytes.TrimRight(value, " \t")
	var space [128]byte
	if len(value) > len(space) {
		return false
	}
	name := space[:len(value)]
	slash := -1
	for i, b := range value {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if b == '/' && slash < 0 {
			slash = i
		}
		name[i] = b
	}
	if c.types[string(name)] {
		return true
	}
	if slash < 0 || slash+2 > len(space) {
		return false
	}
	space[slash+1] = '*'
	return c.types[string(space[:slash+2])]
}

// mayEncode reports whether the answer to a request may have another coding,
// as far as its status tells. Parts of a representation (206) are of the one
// that was asked for, and 304 is about the one that is stored.
func mayEncode(status int) bool {
	switch status {
	case 204, 205, 206, 226:
		return false
	}
	return status < 300 || status >= 400
}

// lists reports whether a comma list has the given word, in lower case. Within
// a quoted string it may find one that is none, which does no harm here.
func lists(v []byte, word string) bool {
	for len(v) > 0 {
		element := v
		if i := bytes.IndexByte(v, ','); i >= 0 {
			element, v = v[:i], v[i+1:]
		} else {
			v = nil
		}
		if compress.Is(bytes.Trim(element, " \t"), word) {
			return true
		}
	}
	return false
}
