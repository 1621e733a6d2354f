package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// answer is a response.
type answer struct {
	raw    []byte
	header http.Header
	status int
}

// into decodes the response.
func (a answer) into(to any) error {
	if err := json.Unmarshal(a.raw, to); err != nil {
		return fmt.Errorf("invalid response of the appliance: %w", err)
	}
	return nil
}

// maxAnswer bounds the bytes of a response. The export of a zone of a million records has
// about 100 MiB.
var maxAnswer = 1 << 30

// readAnswer reads a whole response. One that is too long is an error, because the
// beginning of a document or backup looks like the whole.
func readAnswer(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, int64(maxAnswer)+1))
	if err == nil && len(raw) > maxAnswer {
		err = fmt.Errorf("it has more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return raw, nil
}
