//! `mcp login` and `mcp logout`: the key to a server behind an address.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::mcp::config::{Address, Transport};
use ::mcp::oauth::{self, Client, ClientAuthentication, IdentityProvider, SigningKey};
use args::McpLoginArgs;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::mcp::{self, problem};
use assemble::output;
use assemble::run_context::RunContext;
use contract::secret::Secret;
use serde_json::Value;

use super::token;

fn address(assembly: &Assembly, name: &str) -> Result<Address, Problem> {
    let server = mcp::discover(assembly).servers.into_iter().find(|server| server.name == name);
    match server.map(|server| server.transport) {
        Some(Transport::Http(address)) => Ok(address),
        Some(Transport::Stdio(_)) => {
            Err(Problem::misuse(format!("`{name}` is a program; there is nothing to sign in to")))
        }
        None => Err(Problem::misuse(format!("there is no MCP server `{name}`"))),
    }
}

pub(super) async fn login(assembly: &Assembly, args: &McpLoginArgs) -> Outcome {
    let name = &args.name;
    let address = address(assembly, name)?;
    let client = client(assembly, args)?;
    let credentials = mcp::credentials(assembly)?;
    let signed_in = match (&client, identity_provider(assembly, args)?) {
        (Some(client), Some(provider)) => {
            oauth::sign_in_by_identity_provider(&address, &credentials, client, &provider).await
        }
        (Some(client), None) if args.client_credentials => {
            oauth::sign_in_as_program(&address, &credentials, client).await
        }
        _ => {
            let configured =
                assembly.config().mcp.get("client_metadata_url").and_then(Value::as_str);
            let metadata_url = args.client_metadata_url.as_deref().or(configured);
            let identity =
                oauth::Identity { client, metadata_url: metadata_url.map(str::to_owned) };
            oauth::sign_in(&address, &credentials, &identity, show).await
        }
    };
    signed_in.map_err(problem)?;
    output::hint(&format!("signed in to {name}"));
    Ok(Exit::Done)
}

fn show(page: &str) {
    output::hint("open this page and agree there:");
    // The page goes to standard output, where a script can read it.
    if output::line(page).is_err() {
        output::error("cannot show the page to sign in");
    }
}

/// The client that the server knows, with its secret or its key.
fn client(run: &RunContext, args: &McpLoginArgs) -> Result<Option<Client>, Problem> {
    let Some(id) = args.client_id.clone() else { return Ok(None) };
    let authentication = match &args.private_key {
        Some(file) => ClientAuthentication::Key(Arc::new(key(run, file)?)),
        None => by_secret(token(run, args.client_secret_env.as_deref())?),
    };
    Ok(Some(Client { id, authentication }))
}

fn by_secret(secret: Option<Secret<String>>) -> ClientAuthentication {
    secret.map_or(ClientAuthentication::None, ClientAuthentication::Secret)
}

fn key(run: &RunContext, file: &Path) -> Result<SigningKey, Problem> {
    let path = run.environment.cwd.join(file);
    let wrong = |words: String| Problem::misuse(format!("{}: {words}", path.display()));
    let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    SigningKey::from_pem(&text).map_err(|failure| wrong(failure.with_hint()))
}

fn identity_provider(
    run: &RunContext,
    args: &McpLoginArgs,
) -> Result<Option<IdentityProvider>, Problem> {
    let id_token = token(run, args.idp_id_token_env.as_deref())?;
    let (Some(issuer), Some(id), Some(id_token)) =
        (args.idp_issuer.clone(), args.idp_client_id.clone(), id_token)
    else {
        return Ok(None);
    };
    let authentication = by_secret(token(run, args.idp_client_secret_env.as_deref())?);
    Ok(Some(IdentityProvider { issuer, client: Client { id, authentication }, id_token }))
}

pub(super) fn logout(assembly: &Assembly, name: &str) -> Outcome {
    let address = address(assembly, name)?;
    let had = mcp::credentials(assembly)?.forget(&address.url)?;
    let text = if had { "Forgot the key of" } else { "There is no key of" };
    output::text(format_args!("{text} {name}"))?;
    Ok(Exit::Done)
}
