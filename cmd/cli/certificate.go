package cli

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

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func (c *client) certificateCommand() *cobra.Command {
	return parentCommand("certificate", "Manage certificates and the farms that use them", `  sluice certificate upload shop shop.crt shop.key intermediate.crt
  sluice certificate add shop shop.pem
  sluice certificate list
  sluice certificate replace shop.pem renewed.pem`,
		c.certificateList(), c.certificateShow(), c.certificateUpload(), c.certificateReplace(), c.certificateRestore(), c.certificateRequest(),
		c.certificateDownload(), c.certificateDelete(), c.certificateAdd(), c.certificateRemove(), c.certificateMove(),
		c.authorityCommand(), c.ocspCommand(), c.activationCommand())
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

// certificatePath is pathOf below /certificates for names with blanks and brackets.
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

func (c *client) certificateList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List certificates and CSRs with their state and the farms that use them", Example: "  sluice certificate list\n  sluice certificate list --json",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/certificates")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params []certificate }
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("FILE", "CN", "ISSUER", "KEY", "STATUS", "DAYS", "USED BY")
			for _, v := range body.Params {
				s.Add(v.File, v.CN, v.Issuer, v.KeyType, v.Status, opt(v.DaysLeft), strings.Join(v.UsedBy, ", "))
			}
			return c.print(cmd, s)
		},
	}
}

func (c *client) certificateShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Show one certificate or CSR", Example: "  sluice certificate show shop.pem",
		Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path+"/status")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params certificate }
			if err := a.into(&body); err != nil {
				return err
			}
			if err := c.print(cmd, certificateSheet(body.Params)); err != nil {
				return err
			}
			text, err := c.get(cmd.Context(), path+"/info")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s", show.Clean(string(text.raw)))
			return err
		},
	}
}

func certificateSheet(v certificate) *show.Sheet {
	s := show.NewSheet("SETTING", "VALUE")
	for _, row := range [][2]string{
		{"file", v.File}, {"status", v.Status}, {"problem", v.Problem}, {"names", strings.Join(v.Names, ", ")}, {"key", v.KeyType}, {"missing issuer", v.MissingIssuer},
		{"from", when(v.Creation)}, {"until", when(v.Expiration)}, {"used by", strings.Join(v.UsedBy, ", ")},
		{"must staple", v.MustStaple}, {"stapled", v.OCSP.Stapled}, {"stapled until", when(v.OCSP.NextUpdate)}, {"ocsp problem", v.OCSP.Problem},
	} {
		if row[1] != "" {
			s.Add(row[0], row[1])
		}
	}
	if p := v.Previous; p != nil {
		s.Add("replaced", fmt.Sprintf("%s, until %s", strings.Join(p.Names, ", "), when(p.Expiration)))
	}
	return s
}

const uploadHelp = `FILEs are PEM, DER or PKCS #12 (.p12, .pfx), in any order and number: the
certificate, its private key and the intermediate certificates; - reads standard
input. Leave the key out if the certificate is for a CSR of this appliance. The
password of a PKCS #12 file is prompted for, or read from the file that
--password-file names.`

func (c *client) certificateUpload() *cobra.Command {
	return c.upload("upload NAME FILE…", "Upload a certificate under a new name", "  sluice certificate upload shop shop.crt shop.key intermediate.crt\n  cat shop.pem | sluice certificate upload shop -", http.MethodPost, cobra.NoFileCompletions)
}

func (c *client) certificateReplace() *cobra.Command {
	return c.upload("replace NAME FILE…", "Replace a certificate; farms that use it serve without interruption", "  sluice certificate replace shop.pem renewed.crt renewed.key", http.MethodPut, c.completeCertificates(1))
}

// certificateRestore is the command that reverts the last replacement of a certificate.
func (c *client) certificateRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore NAME", Short: "Restore the previous version of a certificate",
		Long:    "Restore the version of a certificate that was replaced last. The current version\nis kept in turn, so a second restore undoes the first. Nothing is changed if\nsomebody replaces the certificate before you answer the question.",
		Example: "  sluice certificate restore shop.pem", Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			body, err := c.restoration(cmd.Context(), path)
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPost, path+"/actions", body)
			return c.orSay(cmd, a, err)
		},
	}
}

// restoration returns the body of the restore of a certificate. If the command may ask, the
// body names the current certificates, so that only those are swapped about which it asks.
func (c *client) restoration(ctx context.Context, path string) (map[string]any, error) {
	body := map[string]any{"action": "restore"}
	now, err := c.replaceable(ctx, path)
	if err == nil && now.Previous != nil { // else the restore is rejected
		body["fingerprint"], body["previous"] = now.Fingerprint, now.Previous.Fingerprint
	}
	return body, err
}

// replaceable returns the certificate in use, if the command may ask about its replacement.
// It is empty otherwise, and for users who may replace certificates but not see them.
func (c *client) replaceable(ctx context.Context, path string) (certificate, error) {
	if c.yes || c.running == nil || c.asker() == nil {
		return certificate{}, nil
	}
	var seen struct{ Params certificate }
	a, err := c.get(ctx, path+"/status")
	if api, is := errors.AsType[*apiError](err); is && api.status == http.StatusForbidden {
		return certificate{}, nil
	}
	if err != nil {
		return certificate{}, err
	}
	err = a.into(&seen)
	return seen.Params, err
}

const replaceHelp = `

Names that the new certificate adds or lacks are shown first. If a service loses
a name that no other certificate of its farm covers, the command asks; without a
terminal it needs --yes. Nothing is changed if somebody replaces the certificate
before you answer. sluice certificate restore brings the old one back.`

func (c *client) upload(use, short, example, method string, names cobra.CompletionFunc) *cobra.Command {
	long := short + ".\n\n" + uploadHelp
	if method == http.MethodPut {
		long += replaceHelp
	}
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: atLeast(2), ValidArgsFunction: thenFiles(names)}
	from := cmd.Flags().String("password-file", "", "file whose first line is the password of the PKCS #12 file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath(args[0])
		if err != nil {
			return err
		}
		r := request{method: method, path: path}
		if method == http.MethodPut {
			now, err := c.replaceable(cmd.Context(), path)
			if err != nil {
				return err
			}
			if now.Fingerprint != "" {
				r = r.with("fingerprint", now.Fingerprint)
			}
		}
		return c.sendFiles(cmd, r, args[1:], unpacker(cmd, *from))
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
		if keyboard(cmd) == nil {
			return "", usagef("%s is protected by a password: write it into a file and give that with --password-file", name)
		}
		return ask(cmd, "Password of "+name+": ")
	}
	content, err := readUpTo(cmd, passwordFile, maxPasswordFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}

// maxPasswordFile bounds the size of a password file.
const maxPasswordFile = 4 << 10

// sendFiles sends the concatenated content of files, converted by unpack, as the body of r.
func (c *client) sendFiles(cmd *cobra.Command, r request, files []string, unpack func(name string, content []byte) ([]byte, error)) error {
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
	r.body, r.files, r.kind = body.Bytes(), files, "application/x-pem-file"
	a, err := c.do(cmd.Context(), r)
	return c.orSay(cmd, a, err)
}

// maxUpload bounds the size of an upload.
const maxUpload = 8 << 20

func readFile(cmd *cobra.Command, name string) ([]byte, error) { return readUpTo(cmd, name, maxUpload) }

// requestParams are the fields of a CSR except its name.
var requestParams = []field.Param{
	{Name: "fqdn", Description: "Host name, or a wildcard, e.g. *.example.com"}, {Name: "country", Description: "Two letters"},
	{Name: "state", Description: "State or province"}, {Name: "locality", Description: "Town; without hyphens and dots"},
	{Name: "organization", Description: "Organization; without hyphens and dots"}, {Name: "division", Description: "Department of the organization"},
	{Name: "mail", Description: "Mail address"}, {Name: "san", Description: "Additional host names and addresses, separated by commas"},
}

func (c *client) certificateRequest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "csr NAME NAME=VALUE…", Short: "Create a private key and a CSR, which is written to standard output", Args: atLeast(1),
		Example: "  sluice certificate csr shop fqdn=shop.example.com country=DE \\\n    state=Bayern locality=Ulm organization='Example Ltd' division=Web \\\n    mail=admin@example.com > shop.csr\n  sluice certificate upload shop signed.crt",
	}
	s := addSettings(cmd, requestParams)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp // a new name
		}
		return s.complete(toComplete)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.some(cmd, args[1:])
		if err != nil {
			return err
		}
		fields["name"] = strings.TrimSuffix(args[0], ".csr")
		a, err := c.send(cmd.Context(), http.MethodPost, "/certificates", fields)
		if err != nil || c.json {
			return c.orJSON(cmd, a, err)
		}
		var body struct {
			Message string
			Params  struct{ CSR string }
		}
		if err := a.into(&body); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), show.Clean(body.Message))
		_, err = io.WriteString(cmd.OutOrStdout(), show.Clean(body.Params.CSR))
		return err
	}
	return cmd
}

func (c *client) certificateDownload() *cobra.Command {
	return &cobra.Command{
		Use: "download FILE", Short: "Write a certificate with its chain, or a CSR, to standard output; never a key",
		Example: "  sluice certificate download shop.pem > shop.pem\n  sluice certificate download shop.csr", Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			return c.download(cmd, path, args[0])
		},
	}
}

func (c *client) certificateDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FILE", Short: "Delete a certificate or CSR and its private key", Example: "  sluice certificate delete shop.pem",
		Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath(args[0])
			if err != nil {
				return err
			}
			return c.deleteAt(cmd, path)
		},
	}
}

// completeCertificates completes up to n arguments with existing names.
func (c *client) completeCertificates(n int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var body struct{ Params []certificate }
		if !c.completing(cmd, "/certificates", &body) {
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
	path, err := pathOf("farms", farm)
	if err != nil {
		return "", err
	}
	tail, err := certificatePath(append([]string{name}, rest...)...)
	return path + tail, err
}
