use super::*;

fn opened(yaml: &str) -> ComposedReading {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("team.yaml");
    std::fs::write(&file, yaml).unwrap();
    let used = "name: used\ndescription: Helps\nprompt: You help.\ntools: [datetime]\n\
                model: openai:a\nguardrails: {max_tool_calls: 3, timeout_seconds: 9}\n";
    std::fs::write(directory.path().join("used.yaml"), used).unwrap();
    let enveloped = "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: old}\n\
                     spec: {role: You are old., tools: [{type: git}]}\n";
    std::fs::write(directory.path().join("old.yaml"), enveloped).unwrap();
    match open(&file, &|_, path| {
        if path.ends_with("old.yaml") && yaml.contains("refused") {
            return Err(String::from("it is refused"));
        }
        Ok(())
    }) {
        Ok(Document::Composed(reading)) => *reading,
        Ok(Document::Agent(_)) => panic!("{yaml}: a single agent"),
        Err(why) => panic!("{yaml}: {why}"),
    }
}

fn composed(yaml: &str) -> Composed {
    let reading = opened(yaml);
    assert_eq!(reading.findings, [], "{yaml}");
    reading.composed.unwrap()
}

fn said(yaml: &str) -> Vec<String> {
    let findings = opened(yaml).findings;
    findings.iter().map(|it| format!("{:?} {}: {}", it.severity, it.path, it.message)).collect()
}

#[test]
fn kind_follows_from_the_keys() {
    for (agents, kind) in [
        ("agents: {a: A., b: B.}", "Team"),
        ("run: parallel\nagents: {a: A., b: {use: used.yaml}}", "Team"),
        ("agents: {a: {prompt: A., then: b}, b: B.}", "Flow"),
        ("agents: {a: A., b: {prompt: B., after: [a]}}", "Flow"),
        ("agents: {a: {use: used.yaml}, b: {use: old.yaml}}", "Group"),
        ("agents: {a: A.}", "Agent"),
        ("agents: {a: {use: used.yaml, prompt: A.}}", "Agent"),
    ] {
        assert_eq!(composed(&format!("name: x\n{agents}\n")).kind.name(), kind, "{agents}");
    }
}

#[test]
fn members_merge_the_keys_of_document_and_role() {
    let team = composed(
        "name: x\nmodel: openai:doc\ntools: [think]\nrun: sequential\n\
         guardrails: {max_tool_calls: 7, max_request_limit: 50, team_token_budget: 100}\n\
         agents:\n  inline: {prompt: You are in., tools: [calculator], environment: {A: 1}}\n  \
         used: {use: used.yaml, prompt: Mine., tools: [csv_analysis]}\n  \
         other: {use: old.yaml, model: 'openai:own', tools_mode: replace, tools: [calculator]}\n",
    );
    let shown: Vec<_> = team
        .members
        .iter()
        .map(|Member { name, role }| {
            let tools: Vec<&str> = role.tools.iter().map(|tool| tool.kind.as_str()).collect();
            let limits = (role.guardrails.tool_calls, role.guardrails.requests);
            let model = role.model.name.clone().unwrap_or_default();
            (name.as_str(), role.prompt.as_str(), model, tools.join(" "), limits)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("inline", "You are in.", "doc".into(), "think calculator".into(), (7, 30)),
            ("used", "Mine.", "a".into(), "think datetime csv_analysis".into(), (7, 50)),
            ("other", "You are old.", "own".into(), "calculator".into(), (7, 50)),
        ]
    );
    assert_eq!(team.members[0].role.environment["A"], "1");
    assert_eq!(team.members[1].role.guardrails.time.as_secs(), 9);
    assert!(team.members[1].role.file.ends_with("used.yaml"));
    assert!(team.lead.tools.is_empty());
}

#[test]
fn envelopes_are_read_as_the_flat_shape() {
    let head = "apiVersion: initrunner/v1\nmetadata: {name: x}\n";
    let team = composed(&format!(
        "{head}kind: Team\nspec:\n  strategy: debate\n  personas: {{a: A., b: {{role: B.}}}}\n"
    ));
    let Kind::Team(settings) = &team.kind else { panic!("{}", team.kind.name()) };
    assert_eq!((settings.strategy_name(), team.members[1].role.prompt.as_str()), ("debate", "B."));
    let flow = composed(&format!(
        "{head}kind: Flow\nspec:\n  agents:\n    a: {{role: used.yaml, sink: {{type: delegate, \
         target: b, queue_size: 5}}}}\n    b: {{role: old.yaml, needs: [a], restart: {{}}}}\n"
    ));
    let Kind::Flow(graph) = &flow.kind else { panic!("{}", flow.kind.name()) };
    assert_eq!(graph.edges, [(0, 1)]);
    let old = said(&format!("{head}kind: Team\nspec: {{odd: 1, personas: {{a: A., b: B.}}}}\n"));
    assert_eq!(old, ["Warning spec.odd: it is not known and is ignored"]);
}

fn check_error(yaml: &str, wanted: &str) {
    let yaml = format!("name: x\n{yaml}\n");
    let said = said(&yaml);
    assert!(said.iter().any(|it| it.starts_with(wanted)), "{yaml}: {said:?}");
    assert!(opened(&yaml).composed.is_none(), "{yaml}");
}

#[test]
fn invalid_documents_are_reported_with_their_place() {
    let two = "agents: {a: A., b: B.}";
    for (yaml, wanted) in [
        (format!("prompt: P.\n{two}"), "Error prompt: a document with `agents` has no prompt"),
        (String::from("agents: {a: {model: x}}"), "Error agents.a: child needs 'prompt' or 'use'"),
        (
            String::from("run: debate\nagents: {a: A.}"),
            "Error run: 'run' needs at least two agents; ",
        ),
        (
            String::from("run: debate\nagents: {a: {prompt: A., then: b}, b: B.}"),
            "Error run: pick 'run' (preset) or 'then'/'after' (graph), not both",
        ),
        (
            String::from("agents: {a: {use: used.yaml}, b: B.}"),
            "Error agents: a bare 'use' is mixed",
        ),
        (
            String::from("agents: {a: {prompt: A., triggers: [1]}, b: B.}"),
            "Error agents.a.triggers: a member of a team has no triggers",
        ),
        (
            String::from("agents: {a: {prompt: A., guardrails: {max_tool_calls: 1}}, b: B.}"),
            "Error agents.a.guardrails: a member of a team has no limits",
        ),
        (
            String::from("run: parallel\nagents: {a: {prompt: A., environment: {X: y}}, b: B.}"),
            "Error agents.a.environment: only members of sequential teams",
        ),
        (format!("durability: {{enabled: true}}\n{two}"), "Error durability: only a flow"),
        (format!("skills: [s]\n{two}"), "Error skills: it belongs to a single role"),
        (format!("modell: x\n{two}"), "Error modell: it is not known; did you mean `model`?"),
        (String::from("agents: {a: {prompt: A., odd: 1}, b: B.}"), "Error agents.a.odd: "),
        (String::from("agents: {A: x, b: B.}"), "Error agents.A: a name has lower-case"),
        (format!("run: race\n{two}"), "Error run: `race` is not known; there are sequential,"),
        (
            format!("run: debate\ndebate: {{max_rounds: 11}}\n{two}"),
            "Error debate.max_rounds: it is not a whole number from 2 to 10",
        ),
        (
            format!("run: ensemble\nensemble: {{mode: weighted}}\n{two}"),
            "Error ensemble.weights: team ensemble mode 'weighted' requires a non-empty 'weights' map",
        ),
        (
            format!("run: ensemble\nensemble: {{mode: weighted, weights: {{z: 1}}}}\n{two}"),
            "Error ensemble.weights.z: there is no agent of this name",
        ),
        (
            format!("run: ensemble\nensemble: {{mode: weighted, weights: {{a: 0, b: 0}}}}\n{two}"),
            "Error ensemble.weights: all weights are zero",
        ),
        (
            String::from("model: x\nagents: {a: {use: used.yaml}, b: {use: old.yaml}}"),
            "Error model: a group has no such key",
        ),
        (
            String::from("run: parallel\nagents: {a: A., b: {use: none.yaml}}"),
            "Error agents.b.use: there is no role ",
        ),
        (
            String::from(
                "description: refused\nrun: parallel\nagents: {a: A., b: {use: old.yaml}}",
            ),
            "Error agents.b.use: it is refused",
        ),
        (
            String::from("run: parallel\nagents: {a: A., b: {use: team.yaml}}"),
            "Error agents.b.use: ",
        ),
    ] {
        check_error(&yaml, wanted);
    }
}

#[test]
fn invalid_graphs_are_reported_with_their_place() {
    let flow = |then: &str| format!("agents: {{a: {{prompt: A., then: {then}}}, b: B., c: C.}}");
    for (yaml, wanted) in [
        (flow("z"), "Error agents.a.then: there is no agent \"z\""),
        (flow("[b, a]"), "Error agents.a.then: 'a' names itself"),
        (flow("{strategy: all}"), "Error agents.a.then.to: it names no agent"),
        (
            flow("{to: [b, c], strategy: ensemble}"),
            "Error agents.a.then.strategy: 'ensemble' needs",
        ),
        (
            flow("{to: b, loop_back: {target: b}}"),
            "Error agents.a.then.loop_back.target: 'b' does not come before 'a'",
        ),
        (
            flow("{to: b, loop_back: {target: a, until: {tokens: 3}}}"),
            "Error agents.a.then.loop_back.until: loop_back until only supports the 'output' field, \
             got 'tokens'",
        ),
        (
            flow("{to: b, loop_back: {target: a, until: {output: about}}}"),
            "Error agents.a.then.loop_back.until: loop_back until condition 'about' must be \
             'contains:<text>' or '<op><number>'",
        ),
        (
            String::from("agents: {a: {prompt: A., then: b}, b: {prompt: B., then: a}}"),
            "Error agents: a, b wait for each other; use 'loop_back' for a cycle",
        ),
    ] {
        check_error(&yaml, wanted);
    }
}

#[test]
fn unsupported_parts_of_a_flow_are_warnings() {
    let yaml = "name: x\ntriggers: [{type: cron}]\ndurability: {enabled: true, max_retries: 3}\n\
                agents: {a: {prompt: A., then: b, triggers: [1]}, b: B., c: C.}\n";
    assert_eq!(
        said(yaml),
        [
            "Warning triggers: it only matters for the daemon, and does nothing here",
            "Warning agents.a.triggers: it only matters for the daemon, and does nothing here",
            "Warning agents.c: no agent precedes it, so it never runs",
        ]
    );
    assert!(opened(yaml).composed.is_some());
}

#[test]
fn shared_memory_is_given_to_every_member() {
    let team = composed(
        "name: x\nshared_memory: {enabled: true, max_memories: 5}\nagents: {a: A., b: B.}\n",
    );
    for member in &team.members {
        let memory = member.role.memory.as_ref().unwrap();
        assert_eq!(memory.store_path.as_deref(), Some("memory/x-shared.db"));
        assert_eq!(memory.max_facts, Some(5));
    }
}

#[test]
fn directory_of_agents_is_a_group() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("suite.yaml", "apiVersion: initrunner/v1\nkind: TestSuite\n");
    write("one.yaml", "name: first\nprompt: A.\n");
    let path = directory.path();
    let open = || open(path, &|_, _| Ok(()));
    let Ok(Document::Agent(file)) = open() else { panic!() };
    assert!(file.ends_with("one.yaml"));
    write("two.yaml", "name: second\nprompt: B.\n");
    let Ok(Document::Composed(reading)) = open() else { panic!() };
    let names = reading.composed.unwrap().members.into_iter().map(|it| it.name);
    assert_eq!(names.collect::<Vec<_>>(), ["first", "second"]);
    write("three.yaml", "name: second\nprompt: B.\n");
    let Ok(Document::Composed(reading)) = open() else { panic!() };
    assert!(reading.composed.is_none() && reading.findings[0].message.contains("second too"));
    write("team.yaml", "name: x\nagents: {a: A., b: B.}\n");
    let Ok(Document::Composed(reading)) = open() else { panic!() };
    assert_eq!(reading.composed.unwrap().kind.name(), "Team");
}
