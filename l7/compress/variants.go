package compress

import (
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// library is what the encoders of all libraries can do. Reset makes one ready
// for another body, whatever became of the one before.
type library interface {
	io.Writer
	Flush() error
	Close() error
	Reset(io.Writer)
}

// variant is one level of one coding.
type variant struct {
	make func() library
	cost int // bytes an encoder takes at most, rounded up
	turn int // bytes that take a millisecond at most
}

// variants are chosen by what they take and give, see the table in the comment
// of the package. The highest levels of the libraries are not among them: they
// take tens of milliseconds, or of megabytes.
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

// zstdAt makes encoders that work in the caller's goroutine. TCP and TLS have
// checksums; another one would be read by nobody.
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

// must turns a rejection of an option, which a test would have met, into a panic.
func must[T library](w T, err error) library {
	if err != nil {
		panic("compress: " + err.Error())
	}
	return w
}
