// Package compresstest decodes the output of l7/compress for tests.
package compresstest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Reader decodes a body as it arrives. A premature end is an error.
func Reader(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "":
		return r, nil
	case "gzip":
		return gzip.NewReader(r)
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(256<<10))
	case "br":
		return brotli.NewReader(r), nil
	}
	return nil, fmt.Errorf("coding %q", coding)
}

// Decode decodes a complete body.
func Decode(coding string, b []byte) ([]byte, error) {
	r, err := Reader(coding, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Text returns n bytes that compress like JSON lists, the same for each seed. They must not
// be modified.
func Text(n int, seed uint64) []byte {
	type key struct {
		n    int
		seed uint64
	}
	if made, ok := texts.Load(key{n, seed}); ok {
		return made.([]byte)
	}
	made, _ := texts.LoadOrStore(key{n, seed}, text(n, seed))
	return made.([]byte)
}

var texts sync.Map

func text(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	words := make([]string, 1000)
	for i := range words {
		b := make([]byte, 2+r.IntN(8))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	word := func() string { return words[int(r.ExpFloat64()*100)%len(words)] }
	var out []byte
	for len(out) < n {
		out = fmt.Appendf(out, "{\"id\":%d,\"name\":%q,\"of\":%q},\n", r.IntN(100000), word(), word())
	}
	return out[:n]
}
