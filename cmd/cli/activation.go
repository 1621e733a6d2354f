package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

func (c *client) activationCommand() *cobra.Command {
	return parentCommand("activation", "Activation certificate of SKUDONET; Sluice does not need one", "  sluice certificate activation upload activation.pem\n  sluice certificate activation show",
		c.activationShow(), c.activationUpload(), c.activationDownload(), c.activationDelete())
}

const activationPath = "/certificates/activation"

func (c *client) activationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the holder and validity of the activation certificate", Example: "  sluice certificate activation show", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), activationPath+"/info")
			return c.orFields(cmd, a, err, "hostname", "type", "status", "days_to_expire", "expiration", "issuer", "notice")
		},
	}
}

func (c *client) activationUpload() *cobra.Command {
	return &cobra.Command{
		Use: "upload FILE", Short: "Upload or replace the activation certificate", Example: "  sluice certificate activation upload activation.pem", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.sendFiles(cmd, request{method: http.MethodPost, path: activationPath}, args, asIs)
		},
	}
}

func (c *client) activationDownload() *cobra.Command {
	return &cobra.Command{
		Use: "download", Short: "Write the activation certificate to standard output", Example: "  sluice certificate activation download > activation.pem", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.download(cmd, activationPath, "activation.pem") },
	}
}

func (c *client) activationDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete", Short: "Delete the activation certificate", Example: "  sluice certificate activation delete", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.deleteAt(cmd, activationPath)
		},
	}
}
