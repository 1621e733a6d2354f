package upkeep

import (
	"bufio"
	"encoding/base64"
	"io"
)

// gzipEncoded is the start of every gzip archive in base64.
const gzipEncoded = "H4sI"

// decoded returns the plain archive. The family's command line sends base64 but declares
// gzip.
func decoded(from io.Reader, size int64) (io.Reader, int64) {
	in := bufio.NewReader(from)
	if head, _ := in.Peek(len(gzipEncoded)); string(head) != gzipEncoded {
		return in, size
	}
	return base64.NewDecoder(base64.StdEncoding, in), int64(base64.StdEncoding.DecodedLen(int(max(size, 0))))
}
