use contract::policy::Access;
use contract::sandbox::{Limits, Network};
use testkit::Plain;

use super::*;

struct Rig {
    directory: tempfile::TempDir,
    residents: Residents,
    sandbox: Plain,
}

impl Rig {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("hook.py"), script).unwrap();
        Self { directory, residents: Residents::default(), sandbox: Plain::inheriting() }
    }

    fn kind(&self) -> Kind {
        let payload = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/resident.py");
        let profile = Profile {
            workspace: self.directory.path().to_owned(),
            access: Access::Workspace,
            read: Vec::new(),
            write: Vec::new(),
            own: Vec::new(),
            fixed: Vec::new(),
            network: Network::None,
            env: BTreeMap::new(),
            limits: Limits::default(),
        };
        Kind { origin: "global".into(), python: "python3".into(), payload, home: None, profile }
    }

    async fn run(&self, input: &str) -> Ended {
        let file = self.directory.path().join("hook.py");
        let env = BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]);
        let script = Script { file: &file, cwd: self.directory.path(), env: &env, input };
        self.residents.run(&self.sandbox, &self.kind(), &script).await.unwrap().unwrap()
    }

    fn starts(&self) -> usize {
        self.sandbox.profiles().len()
    }
}

#[tokio::test]
async fn every_script_is_a_program_of_its_own() {
    let rig = Rig::new(
        "import json, os, sys\n\
         assert __name__ == '__main__' and not hasattr(sys, 'seen')\n\
         sys.seen = True\n\
         said = json.load(sys.stdin)\n\
         print(os.environ.pop('GREETING'), said['who'], sys.argv[0] == __file__, sys.path[0] in __file__)\n",
    );
    for who in ["Ann", "Bob"] {
        let ended = rig.run(&format!("{{\"who\": \"{who}\"}}")).await;
        let expected = format!("hello {who} True True\n");
        assert_eq!((ended.code, ended.stdout.text), (0, expected), "{}", ended.stderr.text);
    }
    assert_eq!(rig.starts(), 1);
}

#[tokio::test]
async fn a_script_ends_as_it_would_by_itself() {
    let rig = Rig::new(
        "import os, sys\n\
         word = sys.stdin.read()\n\
         if word == 'raise': raise ValueError('no good')\n\
         if word == 'kill': os.kill(os.getpid(), 9)\n\
         if word == 'much': print('x' * 3_000_000)\n\
         sys.exit(int(word) if word.isdigit() else 0)\n",
    );
    assert_eq!(rig.run("7").await.code, 7);
    assert_eq!(rig.run("kill").await.code, 128 + 9);
    let raised = rig.run("raise").await;
    assert_eq!(raised.code, 1);
    assert!(raised.stderr.text.starts_with("Traceback"), "{}", raised.stderr.text);
    assert!(raised.stderr.text.ends_with("ValueError: no good\n"), "{}", raised.stderr.text);
    assert!(!raised.stderr.text.contains("resident.py"), "{}", raised.stderr.text);
    let much = rig.run("much").await;
    assert_eq!((much.code, much.stdout.text.len(), much.stdout.is_cut), (0, 1 << 20, true));
    assert_eq!(rig.run(&"y".repeat(3_000_000)).await.code, 0, "its input may be long");
    assert_eq!(rig.starts(), 1);
}

#[tokio::test]
async fn nothing_of_a_script_outlives_its_answer() {
    let rig = Rig::new(
        "import os, sys, time\n\
         if sys.stdin.read() == 'look':\n    \
             left = open('left').read()\n    \
             print(os.path.exists('/proc/' + left))\n    \
             sys.exit()\n\
         if os.fork() == 0:\n    \
             os.setsid()\n    \
             if os.fork() == 0:\n        \
                 open('left.new', 'w').write(str(os.getpid()))\n        \
                 os.rename('left.new', 'left')\n        \
                 time.sleep(600)\n    \
             os._exit(0)\n\
         while not os.path.exists('left'): time.sleep(0.001)\n",
    );
    assert_eq!(rig.run("").await.code, 0);
    assert_eq!(rig.run("look").await.stdout.text, "False\n");
}

#[tokio::test]
async fn a_script_that_is_given_up_takes_its_python_with_it() {
    let rig = Rig::new("import sys, time\nif sys.stdin.read(): time.sleep(600)\n");
    rig.run("").await;
    let wait = rig.run("on");
    assert!(tokio::time::timeout(Duration::from_millis(50), wait).await.is_err());
    assert_eq!(rig.run("").await.code, 0);
    assert_eq!(rig.starts(), 2);
}
