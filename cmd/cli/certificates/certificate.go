package certificates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func certificateCommand(c *command.Line) *cobra.Command {
	return command.Parent("certificate", "Manage certificates and the farms that use them", `  sluice certificate upload shop shop.crt shop.key intermediate.crt
  sluice certificate add shop shop.pem
  sluice certificate list
  sluice certificate replace shop.pem renewed.pem`,
		certificateList(c), certificateShow(c), certificateUpload(c), certificateReplace(c), certificateRestore(c), certificateRequest(c),
		certificateDownload(c), certificateDelete(c), certificateAdd(c), certificateRemove(c), certificateMove(c),
		authorityCommand(c), ocspCommand(c), activationCommand(c))
}

type certificate struct {
	File, Type, CN, Issuer, Status, Problem string
	KeyType                                 string `json:"key_type"`
	MissingIssuer                           string `json:"missing_issuer"`
	DaysLeft                                *int   `json:"days_left"`
	Expiration                              time.Time
	Creation                                time.Time
	Names                                   []string
	UsedBy                                  []string `json:"used_by"`
	Fingerprint                             string
	MustStaple                              string `json:"must_staple"`
	Previous                                *struct {
		Names       []string
		Expiration  time.Time
		Fingerprint string
	}
	OCSP struct {
		Responder, Stapled, Problem string
		NextUpdate                  time.Time `json:"next_update"`
	}
}

// nameForm matches names of certificates and authorities. Only the blank must be escaped in
// a path.
var nameForm = regexp.MustCompile(`^[\w.()@*-]([\w.()@* -]*[\w.()@*-])?$`)

// certificatePath is client.Path below /certificates for names with blanks and brackets.
func certificatePath(parts ...string) (string, error) {
	path := "/certificates"
	for _, part := range parts {
		if !nameForm.MatchString(part) || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a valid certificate name", part)
		}
		path += "/" + strings.ReplaceAll(part, " ", "%20")
	}
	return path, nil
}

func certificateList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List certificates and CSRs with their state and the farms that use them", Example: "  sluice certificate list\n  sluice certificate list --json",
		Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/certificates")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params []certificate }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("FILE", "CN", "ISSUER", "KEY", "STATUS", "DAYS", "USED BY")
			for _, v := range body.Params {
				s.Add(v.File, v.CN, v.Issuer, v.KeyType, v.Status, command.Optional(v.DaysLeft), strings.Join(v.UsedBy, ", "))
			}
			return c.Print(cmd, s)
		},
	}
}

func certificateShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Show one certificate or CSR", Example: "  sluice certificate show shop.pem",
		Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path+"/status")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params certificate }
			if err := a.Decode(&body); err != nil {
				return err
			}
			if err := c.Print(cmd, certificateSheet(body.Params)); err != nil {
				return err
			}
			text, err := c.Get(cmd.Context(), path+"/info")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s", show.Clean(string(text.Body)))
			return err
		},
	}
}

func certificateSheet(v certificate) *show.Sheet {
	s := show.NewSheet("SETTING", "VALUE")
	for _, row := range [][2]string{
		{"file", v.File}, {"status", v.Status}, {"problem", v.Problem}, {"names", strings.Join(v.Names, ", ")}, {"key", v.KeyType}, {"missing issuer", v.MissingIssuer},
		{"from", command.FormatTime(v.Creation)}, {"until", command.FormatTime(v.Expiration)}, {"used by", strings.Join(v.UsedBy, ", ")},
		{"must staple", v.MustStaple}, {"stapled", v.OCSP.Stapled}, {"stapled until", command.FormatTime(v.OCSP.NextUpdate)}, {"ocsp problem", v.OCSP.Problem},
	} {
		if row[1] != "" {
			s.Add(row[0], row[1])
		}
	}
	if p := v.Previous; p != nil {
		s.Add("replaced", fmt.Sprintf("%s, until %s", strings.Join(p.Names, ", "), command.FormatTime(p.Expiration)))
	}
	return s
}

const uploadHelp = `FILEs are PEM, DER or PKCS #12 (.p12, .pfx), in any order and number: the
certificate, its private key and the intermediate certificates; - reads standard
input. Leave the key out if the certificate is for a CSR of this appliance. The
password of a PKCS #12 file is prompted for, or read from the file that
--password-file names.`

func certificateUpload(c *command.Line) *cobra.Command {
	return upload(c, "upload NAME FILE…", "Upload a certificate under a new name", "  sluice certificate upload shop shop.crt shop.key intermediate.crt\n  cat shop.pem | sluice certificate upload shop -", http.MethodPost, cobra.NoFileCompletions)
}

func certificateReplace(c *command.Line) *cobra.Command {
	return upload(c, "replace NAME FILE…", "Replace a certificate; farms that use it serve without interruption", "  sluice certificate replace shop.pem renewed.crt renewed.key", http.MethodPut, completeCertificates(c, 1))
}

// certificateRestore is the command that reverts the last replacement of a certificate.
func certificateRestore(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "restore NAME", Short: "Restore the previous version of a certificate",
		Long:    "Restore the version of a certificate that was replaced last. The current version\nis kept in turn, so a second restore undoes the first. Nothing is changed if\nsomebody replaces the certificate before you answer the question.",
		Example: "  sluice certificate restore shop.pem", Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			body, err := restoration(c, cmd.Context(), path)
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path+"/actions", body)
			return c.Finish(cmd, a, err)
		},
	}
}

// restoration returns the body of the restore of a certificate. If the command may ask, the
// body names the current certificates, so that only those are swapped about which it asks.
func restoration(c *command.Line, ctx context.Context, path string) (map[string]any, error) {
	body := map[string]any{"action": "restore"}
	now, err := replaceable(c, ctx, path)
	if err == nil && now.Previous != nil { // else the restore is rejected
		body["fingerprint"], body["previous"] = now.Fingerprint, now.Previous.Fingerprint
	}
	return body, err
}

// replaceable returns the certificate in use, if the command may ask about its replacement.
// It is empty otherwise, and for users who may replace certificates but not see them.
func replaceable(c *command.Line, ctx context.Context, path string) (certificate, error) {
	if c.Yes || c.Running == nil || c.Asker() == nil {
		return certificate{}, nil
	}
	var seen struct{ Params certificate }
	a, err := c.Get(ctx, path+"/status")
	if api, is := errors.AsType[*client.Error](err); is && api.Status == http.StatusForbidden {
		return certificate{}, nil
	}
	if err != nil {
		return certificate{}, err
	}
	err = a.Decode(&seen)
	return seen.Params, err
}

const replaceHelp = `

Names that the new certificate adds or lacks are shown first. If a service loses
a name that no other certificate of its farm covers, the command asks; without a
terminal it needs --yes. Nothing is changed if somebody replaces the certificate
before you answer. sluice certificate restore brings the old one back.`

func upload(c *command.Line, use, short, example, method string, names cobra.CompletionFunc) *cobra.Command {
	long := short + ".\n\n" + uploadHelp
	if method == http.MethodPut {
		long += replaceHelp
	}
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: command.AtLeast(2),
		ValidArgsFunction: command.ThenFiles(names)}
	from := cmd.Flags().String("password-file", "", "file whose first line is the password of the PKCS #12 file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath(args[0])
		if err != nil {
			return err
		}
		r := client.Request{Method: method, Path: path}
		if method == http.MethodPut {
			now, err := replaceable(c, cmd.Context(), path)
			if err != nil {
				return err
			}
			if now.Fingerprint != "" {
				r = r.With("fingerprint", now.Fingerprint)
			}
		}
		return sendFiles(c, cmd, r, args[1:], unpacker(cmd, *from))
	}
	return cmd
}

// unpacker returns a function that converts a file to PEM. The password of the file does not
// leave this command.
func unpacker(cmd *cobra.Command, passwordFile string) func(name string, content []byte) ([]byte, error) {
	return func(name string, content []byte) ([]byte, error) {
		out, err := certs.Unpack(content, "")
		var wrong *certs.Error
		if errors.As(err, &wrong) && wrong.Password {
			password, asked := filePassword(cmd, passwordFile, name)
			if asked != nil {
				return nil, asked
			}
			out, err = certs.Unpack(content, password)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return out, nil
	}
}

// asIs returns the content unchanged.
func asIs(_ string, content []byte) ([]byte, error) { return content, nil }

// filePassword reads the password of a file from another file or a terminal.
func filePassword(cmd *cobra.Command, passwordFile, name string) (string, error) {
	if passwordFile == "" {
		if command.Keyboard(cmd) == nil {
			return "", command.Usagef("%s is protected by a password: write it into a file and give that with --password-file", name)
		}
		return command.AskPassword(cmd, "Password of "+name+": ")
	}
	content, err := command.ReadFile(cmd, passwordFile, maxPasswordFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// maxPasswordFile bounds the size of a password file.
const maxPasswordFile = 4 << 10

// sendFiles sends the concatenated content of files, converted by unpack, as the body of r.
func sendFiles(c *command.Line, cmd *cobra.Command, r client.Request, files []string,
	unpack func(name string, content []byte) ([]byte, error)) error {
	var body bytes.Buffer
	for _, name := range files {
		content, err := readFile(cmd, name)
		if err != nil {
			return err
		}
		if content, err = unpack(name, content); err != nil {
			return err
		}
		body.Write(content)
		if len(files) > 1 {
			body.WriteByte('\n') // a file may lack its final line end
		}
	}
	if body.Len() == 0 {
		return fmt.Errorf("%s is empty", strings.Join(files, ", "))
	}
	r.Body, r.Sources, r.ContentType = body.Bytes(), files, "application/x-pem-file"
	a, err := c.Do(cmd.Context(), r)
	return c.Finish(cmd, a, err)
}

// maxUpload bounds the size of an upload.
const maxUpload = 8 << 20

func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	return command.ReadFile(cmd, name, maxUpload)
}

// requestParams are the fields of a CSR except its name.
var requestParams = []field.Param{
	{Name: "fqdn", Description: "Host name, or a wildcard, e.g. *.example.com"}, {Name: "country", Description: "Two letters"},
	{Name: "state", Description: "State or province"}, {Name: "locality", Description: "Town; without hyphens and dots"},
	{Name: "organization", Description: "Organization; without hyphens and dots"}, {Name: "division", Description: "Department of the organization"},
	{Name: "mail", Description: "Mail address"}, {Name: "san", Description: "Additional host names and addresses, separated by commas"},
}

func certificateRequest(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "csr NAME NAME=VALUE…", Short: "Create a private key and a CSR, which is written to standard output", Args: command.AtLeast(1),
		Example: "  sluice certificate csr shop fqdn=shop.example.com country=DE \\\n    state=Bayern locality=Ulm organization='Example Ltd' division=Web \\\n    mail=admin@example.com > shop.csr\n  sluice certificate upload shop signed.crt",
	}
	s := command.AddSettings(cmd, requestParams)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp // a new name
		}
		return s.Complete(toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.ReadSome(cmd, args[1:])
		if err != nil {
			return err
		}
		fields["name"] = strings.TrimSuffix(args[0], ".csr")
		a, err := c.Send(cmd.Context(), http.MethodPost, "/certificates", fields)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Message string
			Params  struct{ CSR string }
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), show.Clean(body.Message))
		_, err = io.WriteString(cmd.OutOrStdout(), show.Clean(body.Params.CSR))
		return err
	}
	return cmd
}

func certificateDownload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "download FILE", Short: "Write a certificate with its chain, or a CSR, to standard output; never a key",
		Example: "  sluice certificate download shop.pem > shop.pem\n  sluice certificate download shop.csr", Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			return c.PrintFile(cmd, path, args[0])
		},
	}
}

func certificateDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FILE", Short: "Delete a certificate or CSR and its private key", Example: "  sluice certificate delete shop.pem",
		Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}

// completeCertificates completes up to n arguments with existing names.
func completeCertificates(c *command.Line, n int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var body struct{ Params []certificate }
		if !c.FetchCompletions(cmd, "/certificates", &body) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, v := range body.Params {
			out = append(out, fmt.Sprintf("%s\t%s, %s", v.File, v.CN, v.Status))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// farmPath returns the path of a certificate of a farm.
func farmPath(farm, name string, rest ...string) (string, error) {
	path, err := client.Path("farms", farm)
	if err != nil {
		return "", err
	}
	tail, err := certificatePath(append([]string{name}, rest...)...)
	return path + tail, err
}
