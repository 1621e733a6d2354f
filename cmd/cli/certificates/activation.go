package certificates

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func activationCommand(c *command.Line) *cobra.Command {
	return command.Parent("activation", "Activation certificate of SKUDONET; Sluice does not need one", "  sluice certificate activation upload activation.pem\n  sluice certificate activation show",
		activationShow(c), activationUpload(c), activationDownload(c), activationDelete(c))
}

const activationPath = "/certificates/activation"

func activationShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the holder and validity of the activation certificate", Example: "  sluice certificate activation show", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), activationPath+"/info")
			return c.FinishFields(cmd, a, err, "hostname", "type", "status", "days_to_expire", "expiration", "issuer", "notice")
		},
	}
}

func activationUpload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "upload FILE", Short: "Upload or replace the activation certificate", Example: "  sluice certificate activation upload activation.pem", Args: command.Exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sendFiles(c, cmd, client.Request{Method: http.MethodPost, Path: activationPath}, args, asIs)
		},
	}
}

func activationDownload(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "download", Short: "Write the activation certificate to standard output", Example: "  sluice certificate activation download > activation.pem", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.PrintFile(cmd, activationPath, "activation.pem") },
	}
}

func activationDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete", Short: "Delete the activation certificate", Example: "  sluice certificate activation delete", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.DeleteAt(cmd, activationPath)
		},
	}
}
