package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

// documents are the files of a document, sent as one stream.
type documents struct {
	text  []byte
	files []documentFile
}

// documentFile is a file and its first line in the stream, from 0.
type documentFile struct {
	name string
	line int
}

// separator separates the documents of a stream.
const separator = "---\n"

// documentKinds are the suffixes of the files read from a directory.
var documentKinds = []string{".yaml", ".yml", ".json"}

// readDocuments reads files and directories in order.
func readDocuments(cmd *cobra.Command, paths []string) (*documents, error) {
	all := &documents{}
	for _, path := range paths {
		files, err := documentFiles(path)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			text, err := command.ReadFile(cmd, name, maxDocument)
			if err != nil {
				return nil, err
			}
			all.add(name, text)
		}
	}
	if len(all.text) > maxDocument {
		return nil, fmt.Errorf("%s exceed %d bytes together", strings.Join(all.names(), ", "), maxDocument)
	}
	return all, nil
}

// documentFiles returns the files of a directory, or the file itself.
func documentFiles(path string) ([]string, error) {
	if path == "" {
		return nil, command.Usagef("-f: give a file, a directory, or - for standard input")
	}
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		return []string{path}, nil // reading it reports the error
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains(documentKinds, filepath.Ext(e.Name())) {
			out = append(out, filepath.Join(path, e.Name()))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s contains no file *.yaml, *.yml or *.json", path)
	}
	return out, nil
}

func (d *documents) add(name string, text []byte) {
	if len(d.files) > 0 {
		if !bytes.HasSuffix(d.text, []byte("\n")) {
			d.text = append(d.text, '\n')
		}
		d.text = append(d.text, separator...)
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // some Windows editors write a BOM
	}
	d.files = append(d.files, documentFile{name, bytes.Count(d.text, []byte("\n"))})
	d.text = append(d.text, text...)
}

func (d *documents) names() []string {
	var out []string
	for _, f := range d.files {
		out = append(out, f.name)
	}
	return out
}

// String returns the file names.
func (d *documents) String() string { return strings.Join(d.names(), ", ") }

// position matches the position in an error of the appliance.
var position = regexp.MustCompile(`(?m)^line (\d+), column`)

// explained adds files and their lines to an error about the stream.
func (d *documents) explained(err error) error {
	refusal, is := errors.AsType[*client.Error](err)
	if !is || len(d.files) < 2 {
		return err
	}
	return &client.Error{Status: refusal.Status, Message: d.located(refusal.Message), Body: refusal.Body}
}

func (d *documents) located(message string) string {
	return position.ReplaceAllStringFunc(message, func(found string) string {
		line, _ := strconv.Atoi(position.FindStringSubmatch(found)[1])
		for _, f := range slices.Backward(d.files) {
			if line > f.line {
				return fmt.Sprintf("%s: line %d, column", f.name, line-f.line)
			}
		}
		return found
	})
}

// maxDocument bounds the size of a document.
const maxDocument = 16 << 20
