package client

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// maxEvent bounds a line of a stream.
const maxEvent = 1 << 20

// Stream calls use for every event of an endless response (server-sent events, HTML section
// 9.2), with its name, usually empty, and its data. It ends with the response, or with an
// error of use.
func (c *Client) Stream(ctx context.Context, r Request, use func(name, data string) error) error {
	resp, end, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer end()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			if err := use(name, value); err != nil {
				return err
			}
		case "":
			name = ""
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	return nil
}
