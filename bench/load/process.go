package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
)

// Main is the load process. It implements the protocol of the package comment and returns
// at the end of the input.
func Main(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	var spec Spec
	if err := readLine(lines, &spec); err != nil {
		return fmt.Errorf("load: spec: %w", err)
	}
	if spec.TLS != nil {
		// Handshakes produce garbage. With the small heap, frequent collections would
		// cost more than they save.
		debug.SetGCPercent(800)
	}
	client, err := newLoad(spec)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer client.Close()
	state := State{Ready: true}
	if err := client.WarmUp(); err != nil {
		state = State{Error: err.Error()}
	}
	if err := json.NewEncoder(out).Encode(state); err != nil || !state.Ready {
		return err
	}
	for {
		if _, err := lines.ReadString('\n'); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		result, err := client.Run()
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		if err := json.NewEncoder(out).Encode(result); err != nil {
			return err
		}
	}
}

// generator is the load of a Spec.
type generator interface {
	WarmUp() error
	Run() (Result, error)
	Close()
}

func newLoad(spec Spec) (generator, error) {
	if spec.Window == 0 {
		return NewClient(spec)
	}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	return NewDatagrams(spec)
}

func readLine(r *bufio.Reader, into any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}
