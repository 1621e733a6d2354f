package compress

// Coding is a content coding (RFC 9110 section 8.4.1). The zero value is none.
type Coding uint8

// The codings.
const (
	None Coding = iota
	Gzip
	Zstd
	Brotli
	numCodings
)

var codingNames = [numCodings]string{"", "gzip", "zstd", "br"}

// String returns the name of the coding in messages; "" for None.
func (c Coding) String() string { return codingNames[c] }

// Named returns the coding with that name in configurations, or None.
func Named(name string) Coding {
	for c := Gzip; c < numCodings; c++ {
		if codingNames[c] == name {
			return c
		}
	}
	return None
}

// Level trades time for size. The zero value is the middle.
type Level uint8

// The levels.
const (
	Default Level = iota
	Fast
	Best
	numLevels
)
