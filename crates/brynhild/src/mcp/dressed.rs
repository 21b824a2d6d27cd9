//! A tool under another specification: another name, or other conditions.

use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::Action;
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::Value;

/// What is shown in place of a tool's own specification.
type Dress = Arc<dyn Fn(&ToolSpec) -> ToolSpec + Send + Sync>;

/// A tool that shows another specification than its own.
pub(crate) struct Dressed {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    dress: Dress,
}

impl Dressed {
    /// The tool with its specification changed.
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        dress: impl Fn(&ToolSpec) -> ToolSpec + Send + Sync + 'static,
    ) -> Self {
        Self::in_dress(tool, Arc::new(dress))
    }

    fn in_dress(tool: Arc<dyn Tool>, dress: Dress) -> Self {
        let spec = dress(tool.spec());
        Self { tool, spec, dress }
    }
}

#[async_trait]
impl Tool for Dressed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inner(&self) -> Option<&Arc<dyn Tool>> {
        Some(&self.tool)
    }

    fn around(&self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self::in_dress(tool, Arc::clone(&self.dress))))
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        self.tool.actions(args)
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.run(call, context).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use contract::tool::{Recovery, Risk};
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Says something else of itself each time it is asked.
    struct Moody(ToolSpec);

    #[async_trait]
    impl Tool for Moody {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn file(&self) -> Option<PathBuf> {
            Some(PathBuf::from("moody.py"))
        }

        fn actions(&self, _: &Value) -> Result<Vec<Action>, ToolError> {
            Ok(Vec::new())
        }

        async fn renewed(&self, _: &CancellationToken) -> Option<Arc<dyn Tool>> {
            let description = format!("{}!", self.0.description);
            Some(Arc::new(Self(ToolSpec { description, ..self.0.clone() })))
        }

        async fn run(&self, _: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::default())
        }
    }

    #[tokio::test]
    async fn a_renewed_tool_keeps_its_dress_and_says_the_new_words() {
        let spec = ToolSpec {
            name: "own".into(),
            description: "hm".into(),
            input_schema: Value::Null.into(),
            version: String::new(),
            categories: Vec::new(),
            requires_permission: true,
            risk_level: Risk::Mutating,
            recovery_policy: Recovery::Allow,
            parallel: false,
            source: "moody".into(),
        };
        let other = |spec: &ToolSpec| ToolSpec { name: "other".into(), ..spec.clone() };
        let dressed = Dressed::new(Arc::new(Moody(spec)), other);
        assert_eq!(dressed.file(), Some(PathBuf::from("moody.py")));
        let renewed = dressed.renewed(&CancellationToken::new()).await.unwrap();
        assert_eq!((renewed.spec().name.as_str(), &*renewed.spec().description), ("other", "hm!"));
    }
}
