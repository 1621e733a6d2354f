package http2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// decodeAll decodes a block into "name: value" lines.
func decodeAll(d *decoder, b []byte) (lines []string, ok bool) {
	b, ok = d.begin(b)
	for ok && len(b) > 0 {
		var f field
		var line []byte
		if b, line, ok = d.next(b, nil, false, &f); ok {
			if len(line) != f.name+f.value+4 {
				panic(fmt.Sprintf("line %q of %d and %d", line, f.name, f.value))
			}
			lines = append(lines, string(line))
		}
	}
	return lines, ok
}

func newDecoder() *decoder { return &decoder{table: table{max: maxTable}} }
func newEncoder() *encoder { return &encoder{table: table{max: maxTable}} }

func lineOf(f hpack.HeaderField) string { return f.Name + ": " + f.Value + "\r\n" }

// randomField returns fields as in real traffic: some constant, some always new, some long.
func randomField(r *rand.Rand) hpack.HeaderField {
	names := []string{":path", "user-agent", "cookie", "x-request-id", "accept", "content-length", "x-a", "authorization"}
	f := hpack.HeaderField{Name: names[r.IntN(len(names))], Sensitive: r.IntN(10) == 0}
	switch r.IntN(5) {
	case 0:
		f.Value = fmt.Sprint(r.Uint64())
	case 1:
		f.Value = strings.Repeat("v", r.IntN(5000))
	case 2:
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Value = string(b)
	default:
		f.Value = fmt.Sprint("value ", r.IntN(20))
	}
	return f
}

func TestDecoderReadsXNetOutput(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	e, d := hpack.NewEncoder(&b), newDecoder()
	for range 3000 {
		b.Reset()
		if r.IntN(50) == 0 {
			e.SetMaxDynamicTableSize(uint32(r.IntN(maxTable + 1)))
		}
		var want []string
		for range r.IntN(12) {
			f := randomField(r)
			_ = e.WriteField(f)
			want = append(want, lineOf(f))
		}
		got, ok := decodeAll(d, b.Bytes())
		if !ok || strings.Join(got, "") != strings.Join(want, "") {
			t.Fatalf("%v\n%q\n%q", ok, got, want)
		}
	}
	if d.table.len() == 0 || cap(d.table.arena) > 4*maxTable {
		t.Errorf("table of %d entries in %d bytes", d.table.len(), cap(d.table.arena))
	}
}

func TestXNetReadsEncoderOutput(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var got []string
	d := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) { got = append(got, lineOf(f)) })
	e := newEncoder()
	d.SetAllowedMaxDynamicTableSize(maxTable)
	total, written := 0, 0
	for range 3000 {
		if r.IntN(50) == 0 {
			for range 1 + r.IntN(3) {
				e.resize(uint32(r.IntN(2 * maxTable)))
			}
		}
		var want []string
		got = nil
		out := e.begin(nil)
		for range r.IntN(12) {
			f := randomField(r)
			f.Value = strings.Map(func(c rune) rune { return max(c, ' ') }, strings.TrimSpace(f.Value))
			f.Value = strings.TrimSpace(f.Value)
			if f.Name == ":path" {
				out = e.known(out, []byte(lineOf(f)), staticPath)
			} else {
				blanks := strings.Repeat(" ", r.IntN(3))
				out = e.field(out, []byte(strings.ToUpper(f.Name)+":"+blanks+f.Value+blanks+"\r\n"))
			}
			want = append(want, lineOf(f))
			total += len(lineOf(f))
		}
		written += len(out)
		if _, err := d.Write(out); err != nil || d.Close() != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "") != strings.Join(want, "") {
			t.Fatalf("%q\n%q", got, want)
		}
	}
	if e.table.len() == 0 {
		t.Error("the table stayed empty")
	}
	t.Logf("%d bytes of lines became %d", total, written)
}

func TestFieldIsIndexedAtSecondSight(t *testing.T) {
	e := newEncoder()
	line := []byte("Server: nginx\r\n")
	var sizes []int
	for range 4 {
		sizes = append(sizes, len(e.field(nil, line)))
	}
	if e.table.len() != 1 || sizes[0] < 6 || sizes[1] < 6 || sizes[2] != 1 || sizes[3] != 1 {
		t.Errorf("%d entries, sizes %v", e.table.len(), sizes)
	}
}

func TestSecretsAreNeverIndexed(t *testing.T) {
	e := newEncoder()
	for range 3 {
		for _, line := range []string{"Set-Cookie: a=b\r\n", "Authorization: Basic x\r\n", "Cookie: a=b\r\n"} {
			if out := e.field(nil, []byte(line)); out[0]&0xf0 != never {
				t.Errorf("%q became %x", line, out)
			}
		}
	}
	if e.table.len() != 0 {
		t.Errorf("%d entries", e.table.len())
	}
}

func TestConnectionFieldsAreOmitted(t *testing.T) {
	e := newEncoder()
	for _, line := range []string{
		"Connection: close\r\n", "Keep-Alive: timeout=5\r\n", "Transfer-Encoding: chunked\r\n", "Upgrade: h2c\r\n",
		"Proxy-Connection: close\r\n", "TE: trailers\r\n", "Host: a\r\n", "HTTP2-Settings: x\r\n", ":status: 200\r\n", "nonsense\r\n", "\r\n",
	} {
		if out := e.field(nil, []byte(line)); len(out) != 0 {
			t.Errorf("%q became %x", line, out)
		}
	}
}

func TestHuffmanIsReadAsXNetReadsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			if b[i] = byte(r.IntN(256)); r.IntN(3) > 0 {
				b[i] = byte('a' + r.IntN(26))
			}
		}
		coded := hpack.AppendHuffmanString(nil, string(b))
		if got, ok := appendHuffman([]byte("x"), coded); !ok || string(got) != "x"+string(b) {
			t.Fatalf("%q became %q, %v", b, got, ok)
		}
		if len(coded) > 0 { // invalid input, or valid by chance
			coded[r.IntN(len(coded))] ^= 1 << r.IntN(8)
			want, err := hpack.HuffmanDecodeToString(coded)
			if got, ok := appendHuffman(nil, coded); ok != (err == nil) || ok && string(got) != want {
				t.Fatalf("%x: %q, %v; x/net reads %q, %v", coded, got, ok, want, err)
			}
		}
	}
}

func TestInvalidBlocksAreRefused(t *testing.T) {
	long := strings.Repeat("\xff", 3)
	for name, block := range map[string]string{
		"index 0":                     "\x80",
		"index beyond the tables":     "\xbe",
		"name index beyond":           "\x7f\x01\x00",
		"integer without end":         "\xff",
		"integer too long":            "\xff" + long + long + "\x01",
		"integer of many zeros":       "\x1f\x80\x80\x80\x80\x80\x00\x00",
		"string longer than block":    "\x00\x05ab",
		"no value":                    "\x00\x01a",
		"Huffman with EOS":            "\x00\x84\xff\xff\xff\xff\x00",
		"Huffman padded with a byte":  "\x00\x82\x1f\xff\x00",
		"Huffman padded with zeros":   "\x00\x81\x18\x00",
		"table size beyond announced": "\x3f\xe2\x1f",
		"three size updates":          "\x20\x20\x20",
		"size update within":          "\x82\x20",
	} {
		if got, ok := decodeAll(newDecoder(), []byte(block)); ok {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

func TestTooLargeFieldEmptiesTable(t *testing.T) {
	d := newDecoder()
	if _, ok := decodeAll(d, []byte("\x40\x01a\x01b")); !ok || d.table.len() != 1 {
		t.Fatal("no entry")
	}
	var b bytes.Buffer
	_ = hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: "a", Value: strings.Repeat("\x00", 4096)})
	big := append([]byte("\x40"), b.Bytes()[1:]...)
	if _, ok := decodeAll(d, big); !ok || d.table.len() != 0 || d.table.size != 0 {
		t.Errorf("ok %v, %d entries", ok, d.table.len())
	}
}

// FuzzDecoder compares the decoder with that of x/net.
func FuzzDecoder(f *testing.F) {
	for _, seed := range []string{
		"\x82\x86\x84\x41\x0fwww.example.com", // RFC 7541 appendix C.3
		"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
		"\x48\x03302\x58\x07private\x61\x1dMon, 21 Oct 2013 20:13:21 GMT\x6e\x17https://www.example.com",
		"\x3f\xe1\x1f\x20\x82", "\x10\x08password\x06secret", "\x40\x0acustom-key\x0dcustom-header\xbe\xbe\x7e\x01x",
	} {
		f.Add([]byte(seed), []byte("\xbe\xbf"))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d := newDecoder()
		var want []string
		theirs := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) { want = append(want, lineOf(f)) })
		for _, block := range [][]byte{first, second} {
			want = nil
			_, err := theirs.Write(block)
			if err == nil {
				err = theirs.Close()
			}
			got, ok := decodeAll(d, block)
			if !ok {
				return // ours is stricter about integers and size updates
			}
			if err != nil && strings.Contains(err.Error(), "table size update MUST") {
				return // x/net treats the second of two updates as misplaced
			}
			if err != nil || strings.Join(got, "") != strings.Join(want, "") {
				t.Fatalf("%x: we read %q, x/net %q, %v", block, got, want, err)
			}
		}
	})
}

// FuzzEncoder checks that x/net decodes the encoder's output after any resizes and
// evictions. Each byte is one step.
func FuzzEncoder(f *testing.F) {
	f.Add([]byte("aaabbbaaabbbaaabbb"))
	f.Add([]byte{200, 'a', 'a', 'b', 'b', 'a', 199, 'a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c', 255, 193, 'a', 'a', 'a'})
	f.Add(bytes.Repeat([]byte{0, 1, 2, 3, 33, 65, 97, 129, 161, 0, 1, 2, 3, 202}, 20))
	f.Fuzz(func(t *testing.T, steps []byte) {
		e := newEncoder()
		var got, want []string
		d := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) { got = append(got, lineOf(f)) })
		out := e.begin(nil)
		end := func() {
			_, err := d.Write(out)
			if err == nil {
				err = d.Close()
			}
			if err != nil || strings.Join(got, "") != strings.Join(want, "") {
				t.Fatalf("%x: %v\n%q\n%q", out, err, got, want)
			}
			got, want = nil, nil
			out = e.begin(nil)
		}
		for _, b := range steps {
			switch {
			case b >= 224: // resize, in the middle of a connection
				end()
				e.resize(uint32(b-224) * 48)
				out = e.begin(out)
			case b >= 192: // the next message
				end()
			default: // one of 192 lines of different lengths
				f := hpack.HeaderField{Name: fmt.Sprintf("x-%d", b%7), Value: strings.Repeat("v", int(b)*int(b)%300) + fmt.Sprint(b)}
				out = e.field(out, []byte(lineOf(f)))
				want = append(want, lineOf(f))
			}
		}
		end()
	})
}

// Fields repeat while others evict each other. Each index must always refer to its field.
func TestIndicesFollowEvictions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		e := newEncoder()
		var got, want []string
		d := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) { got = append(got, lineOf(f)) })
		e.resize(uint32(r.IntN(600)))
		out, indices := e.begin(nil), 0
		pool := 2 + r.IntN(60) // more than the slots of recently, too
		for range 400 {
			n := r.IntN(1 + r.IntN(pool))
			f := hpack.HeaderField{Name: fmt.Sprintf("x-%d", n), Value: strings.Repeat("v", n*7%50)}
			before := len(out)
			if n == 1 {
				f = hpack.HeaderField{Name: "te", Value: "trailers"}
				out = e.teTrailers(out)
			} else {
				out = e.field(out, []byte(lineOf(f)))
			}
			if out[before]&indexed != 0 {
				indices++
			}
			want = append(want, lineOf(f))
		}
		if _, err := d.Write(out); err != nil || d.Close() != nil || strings.Join(got, "") != strings.Join(want, "") {
			t.Fatalf("a table of %d bytes, %d fields, %d indices: %v", e.table.max, pool, indices, err)
		}
		if e.table.max > 400 && indices == 0 {
			t.Error("no index was used")
		}
	}
}

// Indices longer than one byte (RFC 7541 section 5.1) work in both directions.
func TestOldEntriesKeepTheirIndices(t *testing.T) {
	e := newEncoder()
	var got, want []string
	d := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) { got = append(got, lineOf(f)) })
	out := e.begin(nil)
	old := func() (indices int) {
		for _, write := range []func([]byte) []byte{
			func(b []byte) []byte { return e.known(b, []byte(":path: /x\r\n"), staticPath) },
			e.teTrailers,
			func(b []byte) []byte { return e.field(b, []byte("x-old: 1\r\n")) },
		} {
			out = write(out) // a field seen twice in a row is kept, whatever others hash to
			before := len(out)
			if out = write(out); out[before] == 0xff {
				indices++
			}
		}
		want = append(want, ":path: /x\r\n", ":path: /x\r\n", "te: trailers\r\n", "te: trailers\r\n", "x-old: 1\r\n", "x-old: 1\r\n")
		return indices
	}
	old()
	for i := 0; i < 70; i++ {
		line := fmt.Sprintf("n: %d\r\n", i)
		out = e.field(e.field(out, []byte(line)), []byte(line))
		want = append(want, line, line)
	}
	if n := old(); n != 3 {
		t.Errorf("%d of 3 are indices of several bytes, in a table of %d", n, e.table.len())
	}
	if _, err := d.Write(out); err != nil || d.Close() != nil || strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("%v\n%q\n%q", err, got, want)
	}
}

// Statuses in the static table take one byte.
func TestEveryStatusIsEncoded(t *testing.T) {
	e := newEncoder()
	short := map[int]bool{200: true, 204: true, 206: true, 304: true, 400: true, 404: true, 500: true}
	for status := 100; status < 600; status++ {
		out := e.status(nil, []byte(fmt.Sprint(status)))
		got, err := hpack.NewDecoder(maxTable, nil).DecodeFull(out)
		if want := (hpack.HeaderField{Name: ":status", Value: fmt.Sprint(status)}); err != nil || len(got) != 1 || got[0] != want || (len(out) == 1) != short[status] {
			t.Errorf("%d: %x, %v, %v", status, out, got, err)
		}
	}
}
