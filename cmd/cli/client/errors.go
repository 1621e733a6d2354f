package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"syscall"
)

// FlagError is an unusable value of a flag of the client.
type FlagError struct{ message string }

func (e *FlagError) Error() string { return e.message }

func flagError(format string, args ...any) error { return &FlagError{fmt.Sprintf(format, args...)} }

// NotRunning means that no appliance runs in a data directory.
type NotRunning struct{ data string }

func (e *NotRunning) Error() string {
	if rootData := defaultData(true); e.data == defaultData(false) && e.data != rootData {
		if _, err := os.Stat(rootData); err == nil {
			return fmt.Sprintf("no running sluice in %s, but root has one in %s: use sudo sluice, or start your own with `sluice run`", e.data, rootData)
		}
	}
	return fmt.Sprintf("no running sluice in %s: start it with `sluice run` or point --data to its data directory", e.data)
}

// explain adds the remedy to the error of a failed request.
func (c *Client) explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the appliance did not respond in time")
	case c.URL == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)):
		return &NotRunning{c.Data}
	case c.URL == "" && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission for the control socket in %s: use sudo, run as the user of sluice, or use --url with a key", c.Data)
	case errors.As(err, &unknown), errors.As(err, &wrongName):
		return fmt.Errorf("%w: give its certificate with --cacert FILE, or use --insecure if you trust the network", err)
	case c.URL != "":
		return fmt.Errorf("%s cannot be reached: %w", c.URL, err)
	default:
		return err
	}
}

// Error is an error response of the appliance.
type Error struct {
	Status  int
	Message string
	Body    []byte
}

func (e *Error) Error() string { return e.Message }

// errorOf returns the error for an error response; withKey means that a key was sent.
func errorOf(status int, raw []byte, withKey bool) error {
	var body struct{ Message string }
	if json.Unmarshal(raw, &body) != nil || body.Message == "" {
		body.Message = fmt.Sprintf("the appliance responded with status %d", status)
	}
	switch {
	case status == http.StatusUnauthorized && withKey:
		body.Message = "access denied: this appliance does not know the key, or it was deleted (create one there with `sluice key create`)"
	case status == http.StatusUnauthorized:
		body.Message = "access denied: give a key with SLUICE_KEY or --key (create one on the appliance with `sluice key create`)"
	}
	return &Error{Status: status, Message: body.Message, Body: raw}
}
