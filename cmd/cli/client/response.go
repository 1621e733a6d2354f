package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Response is a response that was read as a whole.
type Response struct {
	Body   []byte
	Header http.Header
	Status int
}

// Decode decodes the body, which is JSON.
func (a Response) Decode(to any) error {
	if err := json.Unmarshal(a.Body, to); err != nil {
		return fmt.Errorf("invalid response of the appliance: %w", err)
	}
	return nil
}

// maxResponse bounds the bytes of a response. The export of a zone of a million records has
// about 100 MiB.
var maxResponse = 1 << 30

// readResponse reads a whole response. One that is too long is an error, because the
// beginning of a document or backup looks like the whole.
func readResponse(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, int64(maxResponse)+1))
	if err == nil && len(raw) > maxResponse {
		err = fmt.Errorf("it has more than %d bytes", maxResponse)
	}
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return raw, nil
}
