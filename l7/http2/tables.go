package http2

import (
	"strings"

	"golang.org/x/net/http2/hpack"
)

// The tables of RFC 7541 are extracted once from x/net's hpack through its public API. The
// rest of hpack is not used, because it allocates a string for every literal and keeps its
// tables in maps.

// staticField is an entry of the static table (appendix A).
type staticField struct {
	line        string // "name: value CRLF"
	name, value int    // lengths
	kind        kind
}

const numStatic = 61

// static is the static table; static[0] is unused.
var static = func() (t [numStatic + 1]staticField) {
	i := 0
	d := hpack.NewDecoder(0, func(f hpack.HeaderField) {
		t[i] = staticField{f.Name + ": " + f.Value + "\r\n", len(f.Name), len(f.Value), kindOf([]byte(f.Name))}
	})
	for i = 1; i <= numStatic; i++ {
		if _, err := d.Write([]byte{0x80 | byte(i)}); err != nil {
			panic("http2: " + err.Error())
		}
	}
	return t
}()

// staticName maps a name to the index of its first entry.
var staticName = func() map[string]uint8 {
	m := map[string]uint8{}
	for i := numStatic; i > 0; i-- {
		m[static[i].line[:static[i].name]] = uint8(i)
	}
	return m
}()

// Indices used by name.
const (
	staticAuthority     = 1
	staticMethod        = 2 // GET; POST is next
	staticPath          = 4 // "/"
	staticHTTP          = 6 // :scheme; https is next
	staticStatus        = 8 // 200
	staticAuthorization = 23
	staticCookie        = 32
	staticSetCookie     = 55
)

// Huffman codes (appendix B) have 5 to 30 bits. Codes of up to shortBits are found by one
// lookup. The code is canonical, so longer ones are found by comparison with the first code
// of each length.
const shortBits = 10

// huffmanShort holds length<<8 | symbol, or 0 where a longer code begins.
var huffmanShort [1 << shortBits]uint16

// huffmanLong holds the codes of each length, left-aligned to 32 bits: they are below end,
// and symbols are numbered from first.
var huffmanLong [31]struct {
	first, end uint32
	symbols    []byte
}

func init() {
	for length := 1; length <= 30; length++ {
		for c := range 256 {
			if n, code := huffmanCode(byte(c)); n == length {
				addCode(byte(c), n, code)
			}
		}
	}
}

// huffmanCode returns the code of c, left-aligned. Eight copies of c encode to whole bytes,
// as many as the code has bits.
func huffmanCode(c byte) (bits int, code uint32) {
	bits = int(hpack.HuffmanEncodeLength(strings.Repeat(string([]byte{c}), 8)))
	var b [4]byte
	copy(b[:], hpack.AppendHuffmanString(nil, string([]byte{c})))
	code = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return bits, code &^ (1<<(32-bits) - 1)
}

func addCode(c byte, bits int, code uint32) {
	if bits <= shortBits {
		from := code >> (32 - shortBits)
		for i := range uint32(1) << (shortBits - bits) {
			huffmanShort[from+i] = uint16(bits)<<8 | uint16(c)
		}
		return
	}
	l := &huffmanLong[bits]
	if l.symbols == nil {
		l.first = code
	}
	l.symbols = append(l.symbols, c)
	l.end = code + 1<<(32-bits)
}
