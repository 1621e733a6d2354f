package http2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// browser returns the fields of a browser's second and later requests: two are new, the
// others are in the table.
func browser(path, referer string) []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":authority", Value: "www.example.com"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: path},
		{Name: "sec-ch-ua", Value: `"Chromium";v="140", "Not=A?Brand";v="24"`}, {Name: "accept", Value: "image/avif,image/webp,*/*;q=0.8"},
		{Name: "user-agent", Value: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"},
		{Name: "referer", Value: referer}, {Name: "accept-encoding", Value: "gzip, deflate, br, zstd"}, {Name: "accept-language", Value: "en-GB,en;q=0.9"},
		{Name: "cookie", Value: "session=0123456789abcdef0123456789abcdef"},
	}
}

func browserBlocks() (first, later []byte) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range browser("/", "https://www.example.com/") {
		_ = e.WriteField(f)
	}
	first = bytes.Clone(b.Bytes())
	b.Reset()
	for _, f := range browser("/", "https://www.example.com/") {
		_ = e.WriteField(f)
	}
	later = bytes.Clone(b.Bytes())
	for _, value := range []string{"/assets/pictures/landscape-1024x768.webp", "https://www.example.com/articles/2026/11/21/"} {
		coded := hpack.AppendHuffmanString(nil, value)
		later = append(append(later, 0x04, 0x80|byte(len(coded))), coded...) // :path, not indexed
	}
	return first, later
}

func BenchmarkDecode(b *testing.B) {
	first, later := browserBlocks()
	b.Run("ours", func(b *testing.B) {
		d := newDecoder()
		if _, ok := decodeAll(d, first); !ok {
			b.Fatal("not decoded")
		}
		var out []byte
		var f field
		b.ReportAllocs()
		for b.Loop() {
			out = out[:0]
			for p := later; len(p) > 0; {
				p, out, _ = d.next(p, out, false, &f)
			}
		}
	})
	b.Run("x-net", func(b *testing.B) {
		var out []byte
		d := hpack.NewDecoder(maxTable, func(f hpack.HeaderField) {
			out = append(append(append(append(out, f.Name...), ": "...), f.Value...), "\r\n"...)
		})
		_, _ = d.Write(first)
		b.ReportAllocs()
		for b.Loop() {
			out = out[:0]
			if _, err := d.Write(later); err != nil || d.Close() != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	lines := []string{
		"Server: nginx\r\n", "Date: Fri, 21 Nov 2026 03:00:00 GMT\r\n", "Content-Type: text/html; charset=utf-8\r\n", "Content-Length: 12345\r\n",
		"Cache-Control: max-age=3600\r\n", "Vary: Accept-Encoding\r\n", "X-Request-Id: 0000000000000000\r\n",
	}
	b.Run("ours", func(b *testing.B) {
		e := newEncoder()
		var text [][]byte
		for _, l := range lines {
			text = append(text, []byte(l))
		}
		last := text[len(text)-1]
		var out []byte
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			last[20], last[21], last[22] = '0'+byte(i%10), '0'+byte(i/10%10), '0'+byte(i/100%10)
			out = e.begin(out[:0])
			for _, l := range text {
				out = e.field(out, l)
			}
		}
		b.ReportMetric(float64(len(out)), "bytes")
	})
	b.Run("x-net", func(b *testing.B) {
		var out bytes.Buffer
		e := hpack.NewEncoder(&out)
		var fields []hpack.HeaderField
		for _, l := range lines {
			name, value, _ := bytes.Cut([]byte(l[:len(l)-2]), []byte(": "))
			fields = append(fields, hpack.HeaderField{Name: string(bytes.ToLower(name)), Value: string(value)})
		}
		id := []byte(fields[len(fields)-1].Value)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			id[6], id[7], id[8] = '0'+byte(i%10), '0'+byte(i/10%10), '0'+byte(i/100%10)
			fields[len(fields)-1].Value = string(id)
			out.Reset()
			for _, f := range fields {
				_ = e.WriteField(f)
			}
		}
		b.ReportMetric(float64(out.Len()), "bytes")
	})
}
