package ctl

import (
	"context"
	"encoding/json"
	"os"

	"github.com/sluicelb/sluice/core/shm"
)

// askSealed is Ask for what does not fit in a request: the body travels in sealed
// memory.
func (c *Client) askSealed(ctx context.Context, op Op, name string, body, reply any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	f, err := shm.Sealed(name, b)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.Ask(ctx, op, struct{}{}, reply, f)
}

// openSealed reads what askSealed sent, at most so many bytes.
func openSealed(files []*os.File, what string, most int, into any) error {
	if len(files) != 1 {
		return rejection(CodeInvalid, "%s in sealed memory are expected, and nothing else", what)
	}
	m, err := shm.MapSealed(files[0])
	if err != nil {
		return rejection(CodeInvalid, "%s: %v", what, err)
	}
	defer m.Close()
	if n := len(m.Bytes()); n > most {
		return rejection(CodeInvalid, "%s of %d bytes: at most %d are allowed", what, n, most)
	}
	return Strict(m.Bytes(), into)
}
