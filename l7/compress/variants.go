package compress

import (
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// library is the common interface of the libraries' encoders. Reset prepares an encoder for
// another body in any state.
type library interface {
	io.Writer
	Flush() error
	Close() error
	Reset(io.Writer)
}

// variant is one level of one coding.
type variant struct {
	make func() library
	cost int // maximum size of an encoder in bytes, rounded up
	turn int // bytes that take at most a millisecond
}

// variants are chosen by their measurements, see the package comment. The highest levels of
// the libraries are excluded, because they take tens of milliseconds or megabytes.
var variants = [numCodings][numLevels]variant{
	Gzip: {
		Fast:    {gzipAt(1), 832 << 10, 64 << 10},
		Default: {gzipAt(4), 960 << 10, 64 << 10},
		Best:    {gzipAt(7), 1024 << 10, 32 << 10},
	},
	Zstd: {
		Fast:    {zstdAt(zstd.SpeedFastest, 32<<10), 768 << 10, 64 << 10},
		Default: {zstdAt(zstd.SpeedFastest, 128<<10), 1152 << 10, 64 << 10},
		Best:    {zstdAt(zstd.SpeedDefault, 256<<10), 2816 << 10, 32 << 10},
	},
	Brotli: {
		Fast:    {brotliAt(0, 16), 448 << 10, 64 << 10},
		Default: {brotliAt(2, 17), 1536 << 10, 32 << 10},
		Best:    {brotliAt(5, 17), 3328 << 10, 16 << 10},
	},
}

func gzipAt(level int) func() library {
	return func() library {
		w, err := gzip.NewWriterLevel(nil, level)
		return must(w, err)
	}
}

// zstdAt returns encoders that work in the caller's goroutine. They write no checksum,
// because TCP and TLS have their own and clients do not check it.
func zstdAt(level zstd.EncoderLevel, window int) func() library {
	return func() library {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window),
			zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		return must(w, err)
	}
}

func brotliAt(quality, bits int) func() library {
	return func() library {
		return brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: quality, LGWin: bits})
	}
}

// must panics if an option is refused, which tests would detect.
func must[T library](w T, err error) library {
	if err != nil {
		panic("compress: " + err.Error())
	}
	return w
}
