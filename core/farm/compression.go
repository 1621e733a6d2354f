package farm

import "slices"

// Compression configures the compression of response bodies for clients that accept it.
type Compression struct {
	// Codings lists the codings to use, in order of preference.
	Codings []Coding `json:"codings"`
	// Min is the minimum size of a body of known length, in bytes; 0 means
	// DefaultCompressionMin.
	Min uint32 `json:"min,omitempty"`
	// Types lists media types in lower case, also as "type/*"; empty means
	// DefaultCompressionTypes.
	Types []string         `json:"types,omitempty"`
	Level CompressionLevel `json:"level,omitempty"`
}

// Coding is a content coding (RFC 9110 section 8.4.1).
type Coding string

// The codings.
const (
	CodingGzip   Coding = "gzip"
	CodingZstd   Coding = "zstd"
	CodingBrotli Coding = "br"
)

// Codings lists the codings.
func Codings() []Coding { return []Coding{CodingGzip, CodingZstd, CodingBrotli} }

// CompressionLevel trades time for size.
type CompressionLevel string

// The levels; the zero value acts as CompressionDefault.
const (
	CompressionFast    CompressionLevel = "fast"
	CompressionDefault CompressionLevel = "default"
	CompressionBest    CompressionLevel = "best"
)

// CompressionLevels lists the levels.
func CompressionLevels() []CompressionLevel {
	return []CompressionLevel{CompressionFast, CompressionDefault, CompressionBest}
}

// DefaultCompressionMin is the smallest body worth compressing: with its head it fills a
// packet.
const DefaultCompressionMin uint32 = 1024

// DefaultCompressionTypes returns media types of text that is usually sent uncompressed.
func DefaultCompressionTypes() []string {
	return []string{
		"text/html", "text/plain", "text/css", "text/xml", "text/csv", "text/markdown", "text/javascript", "text/calendar", "text/vcard",
		"application/json", "application/ld+json", "application/problem+json", "application/manifest+json", "application/geo+json",
		"application/javascript", "application/xml", "application/xhtml+xml", "application/rss+xml", "application/atom+xml",
		"application/wasm", "application/x-ndjson", "image/svg+xml", "font/ttf", "font/otf",
	}
}

func (c *Compression) clone() *Compression {
	if c == nil {
		return nil
	}
	out := *c
	out.Codings, out.Types = slices.Clone(c.Codings), slices.Clone(c.Types)
	return &out
}
