package table

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress"
	"github.com/sluicelb/sluice/l7/http1"
)

// Compression holds the compression settings of a service.
type Compression struct {
	offered []compress.Coding // in order of preference
	Level   compress.Level    // how hard it tries
	Min     int64             // smallest body in bytes
	types   map[string]bool   // in lower case; "text/*" matches all subtypes
}

// newCompression compiles a service's compression, or returns nil if it has none.
func newCompression(c *farm.Compression) (*Compression, error) {
	if c == nil || len(c.Codings) == 0 {
		return nil, nil
	}
	out := &Compression{Min: int64(cmp.Or(c.Min, farm.DefaultCompressionMin)), types: map[string]bool{}}
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
		out.Level = compress.Fast
	case farm.CompressionBest:
		out.Level = compress.Best
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

// Accepted returns the coding for the response to a request, or None if the client accepts
// none of ours. It reads the client's original fields: removing Accept-Encoding by rules
// stops backends from compressing, not the appliance.
func (c *Compression) Accepted(h *http1.Head) compress.Coding {
	var a compress.Accept
	for i := range h.Fields[:h.NumFields] {
		if f := &h.Fields[i]; f.Name.Len() == len("accept-encoding") && compress.Is(h.Name(i), "accept-encoding") {
			a.Add(f.Value.Of(h.Buf))
		}
	}
	return a.Choose(c.offered)
}

// Wants reports whether bodies with that Content-Type are compressed.
func (c *Compression) Wants(value []byte) bool {
	value, _, _ = bytes.Cut(value, []byte{';'})
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
