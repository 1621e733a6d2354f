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

// String is the name the coding has in messages; None has no name.
func (c Coding) String() string { return codingNames[c] }

// Named is the coding of that name as configurations spell it, None when there
// is none.
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
